"""Python's standard library against the chat completions at OPENAI_BASE_URL.

Every argument is a scenario; "stream:X" asks for X as a stream, and "many:N"
asks N things at once. What came is printed, one JSON line for each. The
standard library tries nothing again, so this does as its users do.
"""

import concurrent.futures
import json
import os
import sys
import time
import urllib.error
import urllib.request


def post(body):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
    )
    for left in reversed(range(4)):
        try:
            return urllib.request.urlopen(request, timeout=100)
        except urllib.error.HTTPError as error:
            if left == 0 or error.code < 500 and error.code != 429:
                raise
            time.sleep(int(error.headers.get("Retry-After-Ms", "20")) / 1000)


def once(messages, stream):
    with post({"model": "e2e-1", "stream": stream, "messages": messages}) as response:
        if not stream:
            return json.load(response)["choices"][0]["message"], 0
        message, events = {"role": "assistant", "content": "", "tool_calls": []}, 0
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            events += 1
            for choice in json.loads(line[6:])["choices"]:
                delta = choice["delta"]
                message["content"] += delta.get("content") or ""
                for call in delta.get("tool_calls", []):
                    if "id" in call:
                        message["tool_calls"].append(call)
                    else:
                        message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
        return message, events


def one(scenario):
    stream = scenario.startswith("stream:")
    said = scenario.removeprefix("stream:")
    messages = [{"role": "user", "content": said}]
    try:
        message, events = once(messages, stream)
        if said == "tools":
            messages.append(message)
            for call in message["tool_calls"]:
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": "-3"})
            last, more = once(messages, stream)
            return [message, events, last, more]
        return [message, events]
    except urllib.error.HTTPError as error:
        return {"failed": error.code, "says": json.load(error)}


for scenario in sys.argv[1:]:
    if scenario.startswith("many:"):
        said = [("" if i % 2 else "stream:") + f"question {i}" for i in range(int(scenario.removeprefix("many:")))]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            got = list(pool.map(one, said))
    else:
        got = one(scenario)
    print(json.dumps({"scenario": scenario, "got": got}, sort_keys=True))
