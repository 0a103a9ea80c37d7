"""The graphs of the two-star gadget: why Bob's edge makes a tree or a cycle.

Alice's vertices stand in a column between the hubs, n-1 on the left and n on the right:
an edge to the left is a bit 0, to the right a bit 1. Bob joins neighbours in the column.
"""

from __future__ import annotations

from matplotlib.axes import Axes

from statebound.errors import UsageError
from statebound.experiments.figures._style import BLACK, BLUE, GREY, VERMILLION, small, unit
from statebound.protocols.problem import Symbols
from statebound.protocols.problems.istree import IsTree

EXAMPLE = 6  # vertices of a picture that is not of a given x
_PITCH = 7.0  # points between neighbours, below which their numbers would touch


def draw_graph(axes: Axes, problem: IsTree, x: Symbols, query: int) -> None:
    """Draw the graph of one x and one query on empty axes.

    Alice's edges are solid, Bob's is thick and dashed and its ends are outlined; the edges
    of a cycle are thicker.

    Parameters
    ----------
    axes
        Where to draw; its frame is taken away.
    problem
        IsTree at its size.
    x
        Alice's bits, (n-2,).
    query
        k - 1, numbered from 0.
    """
    n, size = problem.n, unit()
    tree = bool(problem.answers(x[None])[0, query])
    places = {a: (0.0, -float(a)) for a in range(1, n - 1)}
    middle = -(n - 1) / 2
    places |= {n - 1: (-1.0, middle), n: (1.0, middle)}
    bob = problem.bob_edge(query)
    for a, hub in problem.edges(x):
        in_cycle = not tree and a in bob
        (x0, y0), (x1, y1) = places[a], places[hub]
        axes.plot(
            (x0, x1),
            (y0, y1),
            color=BLACK if in_cycle else GREY,
            zorder=2 if in_cycle else 1,
            lw=(1.8 if in_cycle else 0.9) * size,
            solid_capstyle="butt",
            label="_alice",
        )
    (x0, y0), (x1, y1) = places[bob[0]], places[bob[1]]
    axes.plot(
        (x0, x1),
        (y0, y1),
        color=VERMILLION,
        lw=2.8 * size,
        dashes=(0.8, 0.5),
        zorder=3,
        dash_capstyle="butt",
        label="_bob",
    )
    figure = axes.get_figure()
    assert figure is not None
    pitch = axes.bbox.height * 72 / figure.dpi / size / (n - 2)  # before the layout is settled
    crowd = min(1.0, max((9 / n) ** 0.5, pitch / 16))
    for vertex, (x0, y0) in places.items():
        hub = vertex >= n - 1
        grow = size if hub else size * crowd
        axes.plot(
            [x0],
            [y0],
            marker="s" if hub else "o",
            ms=(9.5 if hub else 9.0) * grow,
            zorder=4,
            mfc=BLUE if hub else "white",
            mec=BLUE if hub else VERMILLION if vertex in bob else BLACK,
            mew=(1.4 if vertex in bob else 0.8) * grow,
            clip_on=False,
            label="_vertex",
        )
        if hub or pitch >= _PITCH:
            axes.annotate(
                str(vertex),
                (x0, y0),
                ha="center",
                va="center_baseline",
                zorder=5,
                fontsize=(6.6 if n < 100 else 5.0) * (grow if n > 9 else size),
                color="white" if hub else BLACK,
                annotation_clip=False,
            )
    axes.set(xlim=(-1.25, 1.25), ylim=(-(n - 2) - 0.4, -0.6))
    axes.axis("off")
    verdict = "a tree" if tree else "a cycle: no tree"
    first, second = (int(bit) for bit in x[query : query + 2])
    axes.annotate(
        rf"$x_{{{query + 1}}}={first},\ x_{{{query + 2}}}={second}$" + f"\n{verdict}",
        (0.5, 0),
        (0, -4 * size),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize=small(),
        linespacing=1.4,
    )


def draw_pair(
    left: Axes,
    right: Axes,
    problem: IsTree | None = None,
    x: Symbols | None = None,
    query: int | None = None,
) -> None:
    """Draw a tree on the left and no tree on the right: x, and x turned after bit k.

    Parameters
    ----------
    left, right
        Where to draw.
    problem, x, query
        IsTree at its size, Alice's bits (n-2,) and k - 1 from 0; all three or none,
        which draws an example. All bits after x_k are turned, so that answer k is the
        only one that changes.

    Raises
    ------
    UsageError
        When some are given and others not.
    """
    given = [value is not None for value in (problem, x, query)]
    if any(given) and not all(given):
        raise UsageError(
            "gadget", "incomplete", "needs a problem, an x and a query", "pass all three or none"
        )
    if problem is None or x is None or query is None:
        problem, query = IsTree(EXAMPLE), 1
        x = problem.parse("0101")[0]
    other = x.copy()
    other[query + 1 :] ^= 1
    tree, cycle = (x, other) if problem.answers(x[None])[0, query] else (other, x)
    draw_graph(left, problem, tree, query)
    draw_graph(right, problem, cycle, query)
