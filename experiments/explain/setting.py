"""What was measured: the problem, the machine, the message, and who counted."""

from __future__ import annotations

from typing import Any

from statebound.experiments.explain.steps import Check, Step, check, shown
from statebound.protocols.problem import Problem

NOT_A_MACHINE = "a protocol was measured, which has no cell and no state"
MACHINE = (
    *("init", "weights_hash", "config", "growing", "regime", "quantiser", "rounding", "dtype"),
    *("encoding", "machine_seed", "spec"),
)
ENGINES = {
    "enumerate": "All inputs were counted, so the numbers are exact.",
    "automaton": "The machine is a finite automaton: the probability of every state it can be in "
    "was followed, token by token, exact up to a bounded rounding error.",
    "sample": "Inputs were drawn at random, so success has an interval.",
}
BOBS = {
    "optimal": "The optimal Bob gives the answer that is right most often for each message and "
    "query; no other Bob does better.",
    "learned": "The learned Bob is a readout of the restored state, fitted on other inputs.",
    "model": "The model's or protocol's own Bob answered.",
}


def steps(row: dict[str, Any], problem: Problem) -> list[Step]:
    """Return what a row says of its problem, its machine, its message and its engine."""
    return [_problem(row, problem), _machine(row), _message(row), _counting(row, problem)]


def _problem(row: dict[str, Any], problem: Problem) -> Step:
    structure = problem.structure
    walled = structure.walled
    text = (
        f"{row['problem']} with n = {row['n']}: Alice holds x, {problem.length} symbols of "
        f"{problem.symbols}, Bob asks one of {problem.queries} queries ({row['query_law']} law), "
        f"and there are q = {problem.alphabet} possible answers."
    )
    if row["through"] is not None:
        text += f" The problem was mapped to {row['through']}, which the machine solved."
    if walled:
        text += f" x carries {structure.effective_n} independent uniform answers: effective n."
    checks = [
        check("queries", row, problem.queries),
        check("alphabet", row, problem.alphabet),
        check("query_law", row, problem.law),
    ]
    options = {k: v for k, v in problem.options().items() if k != "n"}
    checks.append(check("problem_options", row, options))
    stated = {name: row[name] for name in ("problem", "n")}
    absent = {}
    formula: tuple[str, ...] = ()
    if structure.effective_n:
        checks.append(check("effective_n", row, structure.effective_n))
    else:
        absent["effective_n"] = "the answers are not independent and uniform"
    if walled:
        formula = (f"chance = 1/q = 1/{problem.alphabet}",)
        checks.append(check("chance", row, 1 / problem.alphabet))
        absent["wall_reason"] = "walls apply"
    else:
        checks.append(check("wall_reason", row, structure.reason or None))
        if row["chance"] is None:
            absent["chance"] = "the best success without a message was not counted"
        else:
            stated["chance"] = row["chance"]
    if row["deterministic_bits"] is None:
        absent["deterministic_bits"] = "what never erring takes is not known here"
    else:
        checks.append(check("deterministic_bits", row, problem.deterministic_bits))
    if row["through"] is None:
        absent["through"] = "the problem was not mapped to another one"
    else:
        stated["through"] = row["through"]
    return Step("The problem", text, formula, tuple(checks), stated, absent)


def _machine(row: dict[str, Any]) -> Step:
    if row["model"] is None:
        text = f"The protocol {row['protocol']}: Alice's message is a function of x."
        absent = dict.fromkeys(("model", *MACHINE), NOT_A_MACHINE)
        stated = {"protocol": row["protocol"]}
    else:
        when = {
            "handoff": "quantised once, at the handoff",
            "step": "quantised after every token",
        }.get(row["regime"], row["regime"])
        text = f"The model {row['model']}, its state {when}; parameters: {row['init']}."
        stated = {name: row[name] for name in ("model", *MACHINE) if row[name] is not None}
        why = "nothing in this machine is drawn from it"
        absent = {name: why for name in MACHINE if row[name] is None}
        absent["protocol"] = "a model was measured"
    stated["version"] = row["version"]
    return Step("The machine", text, (), (), stated, absent)


def _message(row: dict[str, Any]) -> Step:
    parts = row["fields"]
    total = sum(part["numbers"] * part["bits"] for part in parts)
    real = [part for part in parts if part["kind"] == "real"]
    widths = {part["bits"] for part in real}
    terms = " + ".join(f"{p['numbers']} x {p['bits']} ({p['name']})" for p in parts) or "0"
    formula = (
        "M = sum over fields of numbers x bits",
        f"  = {terms} = {total} bits",
        f"bytes = ceil(M / 8) = ceil({total} / 8) = {-(-total // 8)}",
    )
    text = "The message is the only thing that passes from Alice to Bob; everything in it is here."
    checks = [check("state_bits", row, total), check("message_bytes", row, -(-total // 8))]
    absent = {}
    if row["model"] is None:
        absent = dict.fromkeys(("state_numbers", "bits_per_number"), NOT_A_MACHINE)
    else:
        checks.append(check("state_numbers", row, sum(part["numbers"] for part in real)))
        if len(widths) == 1:
            checks.append(check("bits_per_number", row, widths.copy().pop()))
        else:
            absent["bits_per_number"] = "the fields have different precisions"
    checks += [_null(row, name) for name in absent if row[name] is not None]
    return Step("The message", text, formula, tuple(checks), {"fields": parts}, absent)


def _null(row: dict[str, Any], name: str) -> Check:
    return check(name, row, None)


def _counting(row: dict[str, Any], problem: Problem) -> Step:
    engine, bob = row["engine"], row["bob"]
    text = f"{ENGINES.get(engine, engine)} {BOBS.get(bob, bob)}"
    stated: dict[str, Any] = {"engine": engine, "bob": bob}
    absent: dict[str, str] = {}
    checks: list[Check] = []
    formula: tuple[str, ...] = ()
    if engine == "enumerate":
        inputs = problem.inputs
        formula = (f"inputs = {shown(inputs)}",)
        if problem.product:
            formula = (f"inputs = {problem.symbols}^{problem.length} = {shown(inputs)}",)
        checks.append(check("trials", row, inputs))
    elif row["trials"] is None:
        absent["trials"] = "no single inputs were counted, but the probabilities of states"
    else:
        stated["trials"] = row["trials"]
    if row["seed"] is None:
        absent["seed"] = "no inputs were drawn"
    else:
        stated["seed"] = row["seed"]
    return Step("Who counted", text, formula, tuple(checks), stated, absent)
