"""collide: certificates of collisions, made from a request and checked from a file.

A certificate on disk is a JSON object that also holds the request, so that checking
starts from nothing: the machine is built anew and encodes each input alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from statebound.errors import StateboundError, UsageError
from statebound.experiments.collision import find_collision, verify
from statebound.experiments.request import Request, subject
from statebound.experiments.results import write_atomically


def search(request: Request, method: str, seed: int, out: Path | None) -> dict[str, Any]:
    """Search, and write the certificate to `out` where one is found."""
    if seed < 0:
        raise UsageError("seed", seed, "must not be negative", "pass 0")
    found = find_collision(subject(request), method, seed)
    certificate = found.certificate
    if certificate is not None:
        certificate = certificate | {"request": asdict(request)}
    if out is not None and certificate is not None:
        try:
            write_atomically(out, json.dumps(certificate, indent=2) + "\n")
        except OSError as error:
            raise StateboundError(
                f"{out}: cannot be written ({error.strerror or error}); choose another --out"
            ) from error
    return {
        "certificate": certificate,
        "exhausted": found.exhausted,
        "method": found.method,
        "encodings": found.encodings,
    }


def check(path: Path) -> list[str]:
    """Return what is wrong with the certificate in a file; nothing if it holds."""
    try:
        certificate = json.loads(path.read_text())
        held = certificate.get("certificate", certificate)
        request = Request.from_plain(held["request"])
        for spec in (request.model, request.protocol):
            if spec is not None and ":" in spec and not spec.startswith("table:"):
                raise UsageError(
                    "verify",
                    path,
                    f"names code of its author ({spec}), which checking would run",
                    "build that protocol yourself and call statebound.experiments.collision.verify",
                )
    except UsageError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "verify", path, f"is not a certificate ({error})", "pass a file that --out wrote"
        ) from error
    return verify(held, subject(request))


def words(certificate: dict[str, Any]) -> str:
    """Return a certificate for reading."""
    a, b = certificate["answers"]
    return (
        f"x1 = {certificate['x1']}\nx2 = {certificate['x2']}\nboth send "
        f"{certificate['message'] or 'nothing'} ({certificate['state_bits']} bits), yet query "
        f"{certificate['query']} has the answers {a} and {b}: Bob must err on one of them"
    )
