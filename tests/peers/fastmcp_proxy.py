"""FastMCP's proxy in front of one server, for the benchmark: `tests/peers/run fastmcp-proxy URL`.

It listens on a free port of the loopback, prints its URL as the first line of stdout when it accepts calls, and ends when stdin closes.
Nothing of it is configured: this is the proxy as its documentation shows it.
"""

import sys

from fastmcp.server import create_proxy
from fastmcp_reports import serve

if __name__ == "__main__":
    serve(create_proxy(sys.argv[1]).http_app(stateless_http=True, json_response=True))
