"""FastMCP's proxy in front of one server, for the benchmark: `tests/peers/run fastmcp-proxy URL`.

It listens on a free port of the loopback, prints its URL as the first line of stdout when it accepts calls, and ends when stdin closes.
It finds out what the server speaks, as a gateway must; by default it would speak as its own client does, and fail where the two differ.
"""

import sys

from fastmcp.server import create_proxy
from fastmcp_reports import serve

if __name__ == "__main__":
    serve(create_proxy(sys.argv[1], mode="auto").http_app(stateless_http=True, json_response=True))
