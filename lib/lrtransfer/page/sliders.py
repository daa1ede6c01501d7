"""Slider figures: one cell that a reader moves with no kernel on the site, and with the Python engine in a notebook.

The cell's output holds both: a self-contained HTML figure (which the site shows, and its script brings to life) and a
widget (which a live notebook prefers). No switch tells them apart; each front end takes what it can show.
"""

from __future__ import annotations

import base64
import html
import json
from typing import Any, NamedTuple

from lrtransfer.page.pictures import Model, Picture
from lrtransfer.page.plots import draw_picture, save_svg


def slider_figure(model: Model, *, caption: str, alt: str) -> None:
    """Display a slider figure.

    Parameters
    ----------
    model
        what it shows and its controls
    caption
        what to see, shown under the figure
    alt
        what a reader who cannot see it is told, in a sentence
    """
    from IPython.display import display

    first = drawn(model.at_start())
    bundle: dict[str, Any] = {"text/html": static_html(model, first, caption=caption, alt=alt), "text/plain": alt}
    widget = live_figure(model, first, caption)
    if widget is not None:
        bundle["application/vnd.jupyter.widget-view+json"] = {
            "version_major": 2,
            "version_minor": 0,
            "model_id": widget.model_id,
        }
    display(bundle, raw=True)


class Drawing(NamedTuple):
    """A picture as SVG, and its sentence.

    Attributes
    ----------
    svg
        the document
    summary
        of the picture
    """

    svg: str
    summary: str


def drawn(picture: Picture) -> Drawing:
    """Draw a picture with matplotlib.

    Parameters
    ----------
    picture
        what is drawn

    Returns
    -------
    Drawing
        its SVG and sentence.
    """
    return Drawing(save_svg(draw_picture(picture)), picture.summary)


def static_html(model: Model, first: Drawing, *, caption: str, alt: str) -> str:
    """The figure for a page without a kernel: controls, the drawing at their start values, and the caption.

    Parameters
    ----------
    model
        whose name and controls the page's script reads
    first
        the drawing at the controls' start
    caption, alt
        as in ``slider_figure``

    Returns
    -------
    str
        one ``figure`` element.
    """
    tries = "".join(
        f'<li><button type="button" data-values="{html.escape(json.dumps(model.start() | one.values))}">'
        f"{html.escape(one.words)}</button></li>"
        for one in model.tries
    )
    sliders = [{"name": s.name, "label": s.label, "values": list(s.values), "start": s.start} for s in model.sliders]
    picture = base64.b64encode(first.svg.encode()).decode()
    return (
        f'<figure class="lr-slider" data-model="{html.escape(model.name)}" '
        f'data-sliders="{html.escape(json.dumps(sliders))}" data-alt="{html.escape(alt)}">'
        '<div class="lr-controls"></div>'
        f'<div class="lr-drawing"><img alt="{html.escape(alt)}" src="data:image/svg+xml;base64,{picture}"></div>'
        f'<p class="lr-summary"><span aria-live="polite">{html.escape(first.summary)}</span>'
        f'<span class="lr-room" aria-hidden="true">{html.escape(model.longest_sentence())}</span></p>'
        f'<ul class="lr-tries" aria-label="Try this">{tries}</ul>'
        "<noscript><p>The controls of this figure need JavaScript; the picture shows where they start.</p></noscript>"
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def live_figure(model: Model, first: Drawing, caption: str) -> Any:
    """Controls and one picture, redrawn by the engine at each move.

    Parameters
    ----------
    model
        the figure
    first
        its picture at the start
    caption
        in HTML

    Returns
    -------
    ipywidgets.VBox or None
        None without ipywidgets: the static HTML remains.
    """
    try:
        import ipywidgets
    except ImportError:
        return None
    controls = {
        s.name: ipywidgets.SelectionSlider(
            options=[(f"{v:g}", v) for v in s.values],
            value=s.values[s.start],
            description=s.label,
            continuous_update=False,
            layout=ipywidgets.Layout(width="95%"),
            style={"description_width": "12em"},
        )
        for s in model.sliders
    }
    drawing, summary = ipywidgets.HTML(first.svg), ipywidgets.HTML(html.escape(first.summary))

    def update(_: object) -> None:
        now = drawn(model.picture(**{name: control.value for name, control in controls.items()}))
        drawing.value, summary.value = now.svg, html.escape(now.summary)

    for control in controls.values():
        control.observe(update, names="value")

    def go(values: dict[str, float]) -> None:
        for name, value in values.items():
            controls[name].value = value

    buttons, start = [], model.start()
    for one in model.tries:
        button = ipywidgets.Button(description=one.words, layout=ipywidgets.Layout(width="auto"))
        button.on_click(lambda _, values=one.values: go(start | values))
        buttons.append(button)
    tries = [ipywidgets.HBox(buttons, layout=ipywidgets.Layout(flex_flow="row wrap"))] if buttons else []
    return ipywidgets.VBox([*controls.values(), drawing, summary, *tries, ipywidgets.HTML(html.escape(caption))])
