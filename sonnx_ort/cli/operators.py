"""`sonnx-ort operators`: lists the operators of ONNX by what SONNX has for them."""

import typer

from sonnx_ort.cli.options import examples, subcommand

app = subcommand()


@app.command(epilog=examples("sonnx-ort operators"))
def operators() -> None:
    """List all operators of ONNX by what SONNX has for them.

    A draft of the working group states rules for some. Others are in its operator set without a
    draft: rules of sonnx_ort bind some of these, and the general restrictions alone the rest. All
    others are outside the profile.
    """
    from sonnx_ort.reporting.explanation import list_operators

    typer.echo(list_operators())
