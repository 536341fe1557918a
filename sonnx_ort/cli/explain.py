"""`sonnx-ort explain`: explains a rule, or lists all rules."""

from typing import Annotated

import typer

from sonnx_ort.cli.options import errors_as_sentences, examples, subcommand
from sonnx_ort.versions import version_of

app = subcommand()


@app.command(
    epilog=examples("sonnx-ort explain", "sonnx-ort explain Div.int.C1", "sonnx-ort explain Div")
)
def explain(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="[RULE]",
            help="The id of a rule, or an operator; without it, all rules are listed.",
        ),
    ] = None,
) -> None:
    """Explain a rule, or all rules of an operator.

    Shows where the rule is written, why it matters, what keeps it, what breaks it, and how to fix
    a violation.
    """
    from sonnx_ort.reporting.explanation import explain as explain_rule
    from sonnx_ort.reporting.explanation import list_rules

    with errors_as_sentences():
        text = list_rules() if rule is None else explain_rule(rule)
    typer.echo(text)
    installed = version_of("onnxruntime")
    if "ONNX Runtime " in text and f"ONNX Runtime {installed}" not in text:
        typer.echo(
            "\nThe behavior of ONNX Runtime was measured with the versions named above; "
            f"{installed} is installed here."
        )
