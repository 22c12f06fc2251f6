"""A failing world as text: its file, and its requests and responses."""

import json


def transcript(world, finding, cases):
    """The file of the gateway, and all that the clients sent until the finding."""
    if world is None:
        return "  It does not fail again."
    lines = ["  " + line for line in json.dumps(world.configuration.file(True)).splitlines()]
    numbers = {case.number for case in cases}
    end = finding.exchange if finding.exchange is not None else len(world.transcript)
    for stage, case, who, way, request, response in world.transcript[:end + 1]:
        if case.number in numbers and len(lines) < 60:
            protocol = "HTTP/2" if way.is_http2 else "HTTP/1.1"
            lines.append(f"  -- {stage}: {who} from {way.address} by {way.kind}, {protocol}")
            lines += [f"  > {line}" for line in request.bytes.decode('latin-1').rstrip().split('\r\n')]
            shown = response.visible().splitlines()[:14] if response else ["no response"]
            lines += [f"  < {line[:400]}" for line in shown if line.strip()]
    return "\n".join(lines)
