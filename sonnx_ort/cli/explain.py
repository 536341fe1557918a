"""`sonnx-ort explain`: explains a rule or an operator, or lists all rules."""

from typing import Annotated

import typer

from sonnx_ort.cli.options import errors_as_sentences, examples, say, subcommand
from sonnx_ort.versions import version_of

app = subcommand()


@app.command(
    epilog=examples(
        "sonnx-ort explain", "sonnx-ort explain Div.int.C1", "sonnx-ort explain Transpose"
    )
)
def explain(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The id of a rule, or any operator of ONNX; without it, all rules are listed.",
        ),
    ] = None,
) -> None:
    """Explain a rule, or what binds an operator.

    Shows where the rule is written, whether SONNX states it, why it matters, what keeps it, what
    breaks it, and how to fix a violation; of an operator, whether the profile has it, and what
    binds its nodes.
    """
    from sonnx_ort.reporting.explanation import explain_any, list_rules

    with errors_as_sentences():
        text = list_rules() if rule is None else explain_any(rule)
    say(text)
    installed = version_of("onnxruntime")
    if "ONNX Runtime " in text and f"ONNX Runtime {installed}" not in text:
        say(
            "\nThe behavior of ONNX Runtime was measured with the versions named above; "
            f"{installed} is installed here."
        )
