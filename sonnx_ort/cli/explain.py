"""`sonnx-ort explain`: explains a rule, or lists all rules."""

from typing import Annotated

import typer

from sonnx_ort.cli.options import errors_as_sentences, examples

app = typer.Typer()


@app.command(epilog=examples("sonnx-ort explain", "sonnx-ort explain Div.int.C1"))
def explain(
    rule: Annotated[
        str | None, typer.Argument(metavar="[RULE]", help="A rule's id; all rules if left out.")
    ] = None,
) -> None:
    """Explain a rule: its source, why it matters, what keeps and breaks it, how to mend it."""
    from sonnx_ort.reporting.explanation import explain as explain_rule
    from sonnx_ort.reporting.explanation import list_rules

    with errors_as_sentences():
        typer.echo(list_rules() if rule is None else explain_rule(rule))
