"""A figure at the end of a cell becomes a part of the page, drawn by the plotly that the site brings."""

import plotly.graph_objects as go
from IPython import get_ipython
from IPython.display import HTML, display

get_ipython().display_formatter.ipython_display_formatter.for_type(
    go.Figure, lambda figure: display(HTML(figure.to_html(full_html=False, include_plotlyjs=False)))
)
