"""duality: one layer as a recurrence and as attention, the same outputs, other messages."""

from __future__ import annotations

from typing import Any

from statebound.experiments.demos._page import Step, Story, counted, level

SUMMARY = "One layer in two forms: the same outputs, another message."


def record(
    n: int = 64, model: str = "gla", numbers: int | None = None, bits: int = 16, seed: int = 0
) -> dict[str, Any]:
    """Return the record of ``statebound duality``; its arguments and errors are those there."""
    from statebound.experiments.duality import duality

    found = duality(model, n, numbers=numbers, bits=bits, seed=seed)
    return {"demo": "duality", **found}


def steps(record: dict[str, Any], width: int) -> list[Step]:
    """Tell the record."""
    from statebound.experiments.duality import rows

    story = Story()
    n, p = record["n"], record["bits_per_number"]
    story.scene("One layer, two forms")
    story.step(
        f"A layer ({record['model']}, random parameters) reads {counted(n, 'token')}.",
        "It can be computed in two ways.",
    )
    story.step(
        "",
        "As a recurrence: a state of fixed size, renewed at every token.",
        "As attention: keys and values of all tokens are kept, and each is looked at.",
    )
    story.step("", "Run both on the same tokens, and compare all outputs.")
    story.scene("The same outputs")
    story.step(f"Outputs compared:   {record['outputs']}")
    story.step(f"Largest output:     {record['largest_output']:.3g}")
    story.step(f"Largest difference: {record['largest_difference']:.1e}")
    story.step("", "They agree but for rounding.")

    story.scene("Another message")
    story.step(f"Now cut after t tokens. What must cross, at {counted(p, 'bit')} a number?", "")
    told = rows(record)
    top = float(max(max(row["recurrent"], row["quadratic"]) for row in told))
    for row in told:
        t = row["tokens"]
        story.step(
            level(f"t = {t}, state", row["recurrent"], width, top=top, text=f"{row['recurrent']}"),
            level(
                f"t = {t}, keys, values",
                row["quadratic"],
                width,
                top=top,
                text=f"{row['quadratic']}",
            ),
        )
    after = record["equal_after"]
    story.scene("What follows")
    story.step("The state is of one size for ever. Keys and values grow with every token.")
    if after == 0:
        story.step("", "Here attention sends more from the first token on.")
    elif after < n:
        story.step("", f"Up to {counted(after, 'token')} attention sends no more; then it does.")
    else:
        story.step("", f"Up to {counted(n, 'token')} attention sends no more; later it will.")
    story.step(
        "",
        "The bound is on what crosses, not on what a layer is called.",
        "A fixed state meets the wall. Keys and values escape it, and pay for it in bits.",
    )
    return story.steps
