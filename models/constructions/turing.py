"""One-tape Turing machines as texts, read and checked.

A machine is a text of one statement a line; ``#`` starts a comment::

    name: binary increment
    start: right
    blank: _
    input: 01
    right 0 -> right 0 R
    right _ -> carry _ L

Rules read: in state *right* on symbol *0* go to state *right*, write *0*, move R (or L, or S
for staying). Where no rule applies the machine halts. ``accept: STATES`` makes it decide: it
accepts when it halts in one of them. Symbols are single characters; ``input`` lists those
that an input may hold, never the blank. The head starts on the first symbol, cell 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import resources

from statebound.errors import UsageError

MOVES = {"L": -1, "S": 0, "R": 1}
HEADERS = ("name", "start", "blank", "input", "accept")
FOLDER = "machines"


@dataclass(frozen=True)
class Rule:
    """What to do in a state on a symbol: next state, symbol to write, move of the head."""

    state: int
    symbol: int
    move: int


@dataclass(frozen=True)
class Machine:
    """A Turing machine.

    Attributes
    ----------
    name
        For people.
    states, symbols
        Their names, numbered by position.
    start, blank
        Numbers of the start state and of the blank.
    alphabet
        The characters that an input may hold.
    accept
        The states that accept, or None where the machine computes a tape.
    rules
        By (state, symbol); it halts where there is none.
    """

    name: str
    states: tuple[str, ...]
    symbols: tuple[str, ...]
    start: int
    blank: int
    alphabet: str
    accept: frozenset[int] | None
    rules: dict[tuple[int, int], Rule] = field(hash=False)

    def read(self, text: str) -> list[int]:
        """Return an input's symbols."""
        for character in text:
            if character not in self.alphabet:
                raise UsageError(
                    "input",
                    text,
                    f"{self.name} has no input symbol {character!r}",
                    f"write symbols of {self.alphabet!r}"
                    if self.alphabet
                    else "leave the input empty",
                )
        return [self.symbols.index(character) for character in text]


def parse(text: str, source: str = "machine") -> Machine:
    r"""Read a machine.

    Parameters
    ----------
    text
        The machine.
    source
        Where it comes from, for errors.

    Raises
    ------
    UsageError
        With the line number, the rule that it breaks and a remedy.

    Examples
    --------
    >>> machine = parse("start: a\na _ -> b 1 R\nb _ -> a 1 L")
    >>> machine.states, machine.symbols, machine.rules[0, 0]
    (('a', 'b'), ('_', '1'), Rule(state=1, symbol=1, move=1))
    """
    headers: dict[str, tuple[int, str]] = {}
    written: list[tuple[int, list[str]]] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.partition("#")[0].strip()
        words = line.split()
        if not words:
            continue
        key, colon, value = line.partition(":")
        if not (colon and key in HEADERS):
            if "->" not in words:
                _fail(
                    source,
                    number,
                    line,
                    f"is neither a rule nor one of {', '.join(h + ':' for h in HEADERS)}",
                    "write STATE SYMBOL -> STATE SYMBOL L, R or S",
                )
            _check_rule(source, number, line, words)
            written.append((number, [*words[:2], *words[3:]]))
            continue
        if key in headers:
            _fail(source, number, line, f"{key} was given before", "keep one of them")
        headers[key] = (number, value.strip())
    return _build(source, headers, written)


def _check_rule(source: str, number: int, line: str, words: list[str]) -> None:
    form = "write STATE SYMBOL -> STATE SYMBOL L, R or S"
    if len(words) != 6 or words[2] != "->":
        _fail(source, number, line, "is not of the form of a rule", form)
    for symbol in (words[1], words[4]):
        if len(symbol) != 1 or not symbol.isprintable():
            _fail(source, number, line, f"symbol {symbol} is not one character", form)
    if words[5] not in MOVES:
        _fail(source, number, line, f"move {words[5]} is not L, R or S", form)


def _build(
    source: str, headers: dict[str, tuple[int, str]], written: list[tuple[int, list[str]]]
) -> Machine:
    if "start" not in headers:
        raise UsageError(source, "no start", "must name its start state", "add start: STATE")
    start_line, start = headers["start"]
    blank_line, blank = headers.get("blank", (0, "_"))
    input_line, alphabet = headers.get("input", (0, ""))
    if len(blank) != 1:
        _fail(source, blank_line, blank, "the blank is one character", "write blank: _")
    if blank in alphabet or len(set(alphabet)) < len(alphabet) or " " in alphabet:
        rule = "input symbols are different characters, without spaces and the blank"
        _fail(source, input_line, alphabet, rule, "write input: 01")
    states, symbols = [start], [blank, *alphabet]
    for _, (state, symbol, after, put, _) in written:
        states += [s for s in (state, after) if s not in states]
        symbols += [s for s in (symbol, put) if s not in symbols]
    if len(start.split()) != 1 or not any(words[0] == start for _, words in written):
        _fail(source, start_line, start, "no rule begins in this state", "add a rule for it")
    rules: dict[tuple[int, int], Rule] = {}
    for number, words in written:
        state, symbol, after, put, move = words
        case = states.index(state), symbols.index(symbol)
        if case in rules:
            rule = f"state {state} on symbol {symbol} has a rule already"
            _fail(source, number, " ".join(words), rule, "keep one of them")
        rules[case] = Rule(states.index(after), symbols.index(put), MOVES[move])
    accept = None
    if "accept" in headers:
        number, names = headers["accept"]
        for name in names.split():
            if name not in states:
                _fail(source, number, name, "is not a state of any rule", "name a state")
        accept = frozenset(states.index(name) for name in names.split())
    return Machine(
        headers.get("name", (0, source))[1],
        tuple(states),
        tuple(symbols),
        0,
        0,
        alphabet,
        accept,
        rules,
    )


def _fail(source: str, number: int, value: str, rule: str, remedy: str) -> None:
    raise UsageError(f"{source}, line {number}", value, rule, remedy)


def machine_names() -> list[str]:
    """Return the names of the machines that come with the package."""
    folder = resources.files(__package__) / FOLDER
    return sorted(f.name.removesuffix(".tm") for f in folder.iterdir() if f.name.endswith(".tm"))


def load(name: str) -> Machine:
    """Return a machine that comes with the package."""
    known = machine_names()
    if name not in known:
        raise UsageError(
            "machine", name, "is not a known machine", f"choose from {', '.join(known)}"
        )
    file = resources.files(__package__) / FOLDER / f"{name}.tm"
    return parse(file.read_text(encoding="utf-8"), name)
