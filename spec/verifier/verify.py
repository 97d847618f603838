#!/usr/bin/env python3
"""Verifies a Reprise bundle. It shares no code with Reprise: it is written from
docs/formats.md, in stock Python 3 with `cryptography` for Ed25519.

    verify.py FILE... [--trust KEY]... [--level N] [--expect-head COUNT:ID]

KEY is a file that holds a PEM public key, or 64 hexadecimal digits. It prints
{"verdict", "level", "code", "entry"} for each file and ends, by the worst of them, with 0 verified, 1 below the level
asked for or partial, 2 no bundle, 3 a check failed.
"""
import argparse, base64, hashlib, hmac, json, os, re, sys
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

sys.setrecursionlimit(10000)
MAX_SAFE = 2**53 - 1
MAGIC = b"reprise bundle\r\n"
SPKI = bytes.fromhex("302a300506032b6570032100")
FORMAT, RUN, MANIFEST, CHUNK, HEADER, BODY, WITHHELD, ATTACHMENT, WITHHELD_ATT, HEAD, END = range(1, 12)
LIMITS = {FORMAT: (2, 64 + 39 * 10000), RUN: (36, 36), MANIFEST: (1, 1 << 20), CHUNK: (1, 1 << 16), HEADER: (33, 32 + 1024),
          BODY: (33, 32 + 65536), WITHHELD: (0, 0), ATTACHMENT: (32, 32 + (16 << 20)), WITHHELD_ATT: (0, 0), HEAD: (1, 1 << 20), END: (32, 32)}
NAMED = "name from rules"
KINDS = {"open": "engine mode rules title", "call": "class cred kind match name occurrence path", "outcome": "code redacted status",
         "commit": "delta name rules", "seal": "status world", "decision": NAMED, "event": NAMED, "rejection": NAMED,
         "pending_approval": NAMED, "approval": NAMED, "delegation": NAMED, "branch": NAMED, "skill_bound": NAMED,
         "snapshot": NAMED, "result": NAMED, "erasure": NAMED}
LOAD, HASHES, PARENTS, SEQUENCE, SIGNATURES, LOG, FOLD, PINS, WORLD = range(9)
PLAIN = rb'([ !#-\[\]-~]+)'
HEX = rb'([0-9a-f]{64})'
INT = rb'(0|[1-9][0-9]{0,15})'
UUID = rb'([0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})'
HEADER_RE = re.compile(rb'\{"bind":"' + HEX + rb'","kind":"' + PLAIN + rb'","n":' + INT + rb',"prev":(?:null|"' + HEX + rb'"),"run":"'
                       + UUID + rb'","size":' + INT + rb',"t":"' + PLAIN + rb'","type":"' + PLAIN + rb'","v":1\}')


class Bad(Exception):
    """Something is wrong: a stable code."""
    def __init__(self, code): self.code = code


def sha(*parts): return hashlib.sha256(b"".join(parts)).digest()
def mac(key, data): return hmac.new(key, data, "sha256").digest()

# --- canonical JSON (RFC 8785 without fractions) ---

def encode(v):
    if isinstance(v, dict):
        return b"{" + b",".join(encode(k) + b":" + encode(v[k]) for k in sorted(v, key=lambda k: k.encode("utf-16-be"))) + b"}"
    if isinstance(v, list):
        return b"[" + b",".join(map(encode, v)) + b"]"
    if isinstance(v, float) or type(v) is int and abs(v) > MAX_SAFE:
        raise ValueError("number")
    return json.dumps(v, ensure_ascii=False).encode("utf-8")

def parse(raw, code):
    """Reads canonical JSON and nothing else."""
    try:
        v = json.loads(raw.decode("utf-8"))
        if encode(v) == raw:  # also catches names that come twice, fractions and lone surrogates
            return v
    except (ValueError, RecursionError):
        pass
    raise Bad(code)

def is_text(v): return isinstance(v, str) and v != ""
def is_hex(v): return isinstance(v, str) and re.fullmatch("[0-9a-f]{64}", v) is not None
def is_int(v, want): return type(v) is int and v == want
def is_count(v): return type(v) is int and 0 <= v <= MAX_SAFE

# --- keys and statements ---

P = 2**255 - 19
D = -121665 * pow(121666, P - 2, P) % P

def edwards_add(a, b):
    (x1, y1), (x2, y2) = a, b
    t = D * x1 * x2 * y1 * y2 % P
    return ((x1 * y2 + x2 * y1) * pow(1 + t, P - 2, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, P - 2, P) % P)

def check_key(raw):
    """The enrolment check: a point, canonically encoded, not of small order."""
    y, sign = int.from_bytes(raw, "little") & (2**255 - 1), raw[31] >> 7
    if y >= P:
        raise Bad("sign.bad_key")
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or x == 0 and sign:
        raise Bad("sign.bad_key")
    point = (P - x if x & 1 != sign else x, y)
    for _ in range(3):
        point = edwards_add(point, point)
    if point == (0, 1):
        raise Bad("sign.bad_key")
    return raw

def envelope(raw):
    """A DSSE envelope with one signature, in its one spelling."""
    e = parse(raw, "sign.bad_envelope")
    try:
        s = e["signatures"][0]
        payload, sig = base64.b64decode(e["payload"], validate=True), base64.b64decode(s["sig"], validate=True)
        same = {"payload": base64.b64encode(payload).decode(), "payloadType": e["payloadType"],
                "signatures": [{"keyid": s["keyid"], "sig": base64.b64encode(sig).decode()}]}
        if len(raw) <= 1 << 20 and e == same and is_hex(s["keyid"]) and isinstance(e["payloadType"], str):
            return e["payloadType"], payload, s["keyid"], sig
    except (KeyError, IndexError, TypeError, ValueError):
        pass
    raise Bad("sign.bad_envelope")

def signed(key, env, typ):
    t, payload, keyid, sig = env
    if t != typ or keyid != sha(SPKI, key).hex():
        return False
    pae = b"DSSEv1 %d %s %d %s" % (len(typ), typ.encode(), len(payload), payload)
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(sig, pae)
        return True
    except InvalidSignature:
        return False

def spki(text):
    der = base64.b64decode(text, validate=True)
    if base64.b64encode(der).decode() != text or len(der) != 44 or der[:12] != SPKI:
        raise Bad("sign.bad_key")
    return check_key(der[12:])

def keyring(manifests, roots):
    """Returns {key id: (key, role, state)} and whether a trusted root stands behind it."""
    keys, prev, last_root = {}, None, None
    rank = {"active": 0, "retired": 1, "revoked": 2}
    try:
        for seq, raw in enumerate(manifests):
            env = envelope(raw)
            m = parse(env[1], "sign.bad_manifest")
            root = spki(m["root"])
            if (set(m) != {"keys", "prev", "root", "seq", "v"} or not is_int(m["v"], 1) or not is_int(m["seq"], seq) or m["prev"] != prev
                    or len(m["keys"]) > 1000 or not isinstance(m["keys"], list) or last_root not in (None, root)
                    or not signed(root, env, "application/vnd.reprise.keys.v1+json")):
                raise Bad("sign.bad_manifest")
            now = {}
            for k in m["keys"]:
                pub = spki(k["pub"])
                if set(k) != {"id", "pub", "role", "state"} or k["id"] != sha(SPKI, pub).hex() or not is_text(k["role"]) or k["id"] in now:
                    raise Bad("sign.bad_manifest")
                now[k["id"]] = (pub, k["role"], rank[k["state"]])
            for i, (_, role, state) in keys.items():
                if i not in now or now[i][1] != role or now[i][2] < state:
                    raise Bad("sign.bad_manifest")
            keys, prev, last_root = now, sha(b"reprise/statement/v1\n", raw).hex(), root
    except (Bad, KeyError, TypeError, ValueError):
        raise Bad("sign.bad_manifest")
    return keys if manifests else None, last_root in roots

# --- the file ---

class Bundle:
    def __init__(self, raw):
        if not raw.startswith(MAGIC):
            raise Bad("bundle.not_a_bundle")
        self.raw, self.pos = raw, len(MAGIC)
        self.runs, self.sections, self.chunks = [], [], []
        self.damage, self.n, self.used = None, 0, 0  # damage: code, section, entry
        try:
            self.records()
        except Bad as e:
            if e.code == "bundle.unknown_version":
                raise
            at = (len(self.sections) - 1, self.n) if self.sections and e.code != "bundle.digest_mismatch" else (None, None)
            self.damage = (e.code,) + at

    def type(self):
        if self.pos >= len(self.raw):
            raise Bad("bundle.truncated")
        return self.raw[self.pos]

    def take(self, *types):
        if self.pos + 9 > len(self.raw):
            raise Bad("bundle.truncated")
        typ, size = self.raw[self.pos], int.from_bytes(self.raw[self.pos + 1:self.pos + 9], "big")
        if typ not in LIMITS or not LIMITS[typ][0] <= size <= LIMITS[typ][1]:
            raise Bad("bundle.malformed")
        if typ not in types:
            raise Bad("bundle.malformed")
        end = self.pos + 9 + size
        if end > len(self.raw):
            raise Bad("bundle.truncated")
        b, self.pos = self.raw[self.pos + 9:end], end
        return typ, b

    def records(self):
        f = parse(self.take(FORMAT)[1], "bundle.malformed")
        if isinstance(f, dict) and type(f.get("v")) is int and f["v"] > 1:
            raise Bad("bundle.unknown_version")
        runs = f.get("runs") if isinstance(f, dict) else None
        if (not isinstance(runs, list) or not 0 < len(runs) <= 10000 or set(f) != {"runs", "v"} or not is_int(f["v"], 1)
                or not all(isinstance(r, str) and re.fullmatch(UUID, r.encode()) for r in runs) or len(set(runs)) != len(runs)):
            raise Bad("bundle.malformed")
        self.runs = runs
        for run in runs:
            if self.take(RUN)[1] != run.encode():
                raise Bad("bundle.malformed")
            s = {"manifests": [], "entries": [], "heads": []}
            self.sections.append(s)
            self.n = 0
            while self.type() == MANIFEST:
                s["manifests"].append(self.take(MANIFEST)[1])
            while self.type() not in (RUN, END):
                self.entry(s)
        digest = sha(self.raw[:self.pos])
        end = self.take(END)[1]
        if self.pos != len(self.raw):
            raise Bad("bundle.malformed")
        if end != digest:
            raise Bad("bundle.digest_mismatch")

    def entry(self, s):
        while self.type() == CHUNK:
            self.chunks.append(self.take(CHUNK)[1])
        _, header = self.take(HEADER)
        e = {"id": header[:32], "header": header[32:], "body": None, "parts": []}
        typ, b = self.take(BODY, WITHHELD)
        if typ == BODY:
            e["salt"], e["body"] = b[:32], b[32:]
            while self.type() in (ATTACHMENT, WITHHELD_ATT):
                typ, b = self.take(ATTACHMENT, WITHHELD_ATT)
                if len(e["parts"]) >= 64:
                    raise Bad("bundle.malformed")
                e["parts"].append((b[:32], self.pieces(b[32:])) if typ == ATTACHMENT else None)
        if self.used != len(self.chunks):
            raise Bad("bundle.malformed")
        s["entries"].append(e)
        self.n += 1
        while self.type() == HEAD:
            s["heads"].append((self.n, self.take(HEAD)[1]))

    def pieces(self, p):
        out, last, i = [], None, 0

        def number():
            nonlocal i
            n = shift = 0
            while True:
                if i >= len(p) or shift > 63:
                    raise Bad("bundle.malformed")
                b, i = p[i], i + 1
                n, shift = n | (b & 127) << shift, shift + 7
                if b < 128:
                    if n > MAX_SAFE or b == 0 and shift > 7:
                        raise Bad("bundle.malformed")
                    return n
        while i < len(p):
            kind, i = p[i], i + 1
            a = number() if kind < 2 else 0
            if kind == 0 and last != "bytes" and 0 < a <= len(p) - i:
                out.append(p[i:i + a])
                i, last = i + a, "bytes"
            elif kind == 1 and last != a and a <= self.used and 0 < (count := number()) <= len(self.chunks) - a:
                out.extend(self.chunks[a:a + count])
                self.used, last = max(self.used, a + count), a + count
            else:
                raise Bad("bundle.malformed")
        return out

# --- one ledger ---

def check_body(kind, raw):
    if kind not in KINDS:
        raise Bad("ledger.bad_content")
    v = parse(raw, "ledger.bad_content")
    allowed = set(("att data refs scope " + KINDS[kind]).split())
    ok = isinstance(v, dict) and len(raw) <= 65536 and set(v) <= allowed
    ok = ok and isinstance(v.get("refs", {}), dict) and isinstance(v.get("delta", []), list) and is_hex(v.get("world", "0" * 64))
    ok = ok and isinstance(v.get("att", [0]), list) and v.get("att", [0]) != [] and is_scope(v.get("scope", "x"))
    if not ok:
        raise Bad("ledger.bad_content")
    return v

def is_scope(v): return is_text(v) and len(encode(v)) <= 257

def check_att(a):
    return (isinstance(a, dict) and set(a) - {"scope"} == {"bind", "name", "size", "type"} and isinstance(a["bind"], str)
            and len(encode(a["bind"])) == 66 and is_text(a["name"]) and is_text(a["type"]) and is_count(a["size"]) and is_scope(a.get("scope", "x")))

def merkle(stack, leaf):
    """Appends to the perfect subtrees of an RFC 6962 tree: (size, hash), largest first."""
    h, size = sha(b"\0", leaf), 1
    while stack and stack[-1][0] == size:
        h, size = sha(b"\1", stack.pop()[1], h), size * 2
    stack.append((size, h))

def root_of(stack):
    h = stack[-1][1]
    for _, left in reversed(stack[:-1]):
        h = sha(b"\1", left, h)
    return h

class Verifier:
    def __init__(self, run, section, damage, roots, expect, base=({}, 0, False), whole=True):
        self.found, self.withheld, self.earned = {}, 0, 0
        self.world, self.absent, self.lost, self.recorded = dict(base[0]), base[1], base[2], None
        self.source, self.depth = None, 0
        self.calls, self.unread, self.sealed = set(), 0, False
        self.run, expected = run, expect is None
        try:
            self.keys, self.trusted = keyring(section["manifests"], roots)
        except Bad as e:
            self.keys, self.trusted, bad_keys = None, False, e.code
        else:
            bad_keys = None
        entries, heads, stack, last = section["entries"], list(section["heads"]), [], None
        if not whole:  # the beginning that ends with the expected entry
            entries, heads = entries[:expect[0]], [h for h in heads if h[0] <= expect[0]]
        for n, e in enumerate(entries):
            ident = sha(b"reprise/entry/v1\n", e["header"])
            self.entry(n, e, ident, last)
            last = ident
            merkle(stack, ident)
            if expect and expect == (n + 1, ident.hex()):
                expected = True
            while heads and heads[0][0] == n + 1:
                self.head(n, heads.pop(0)[1], root_of(stack), ident)
        count = len(entries)
        if damage:
            self.fail(LOAD, damage[0], damage[1])
        if count == 0:
            self.fail(LOAD, "ledger.empty", None)
        if not expected:
            self.fail(PINS, "ledger.expected_head", expect[0] - 1)
        if self.recorded is not None:
            if self.lost or self.absent:
                self.withheld += 1
            elif self.world_hash() != self.recorded:
                self.fail(WORLD, "ledger.world_mismatch", count - 1)
        if bad_keys:
            self.fail(SIGNATURES, bad_keys, None)

    def close(self):
        """Says what comes first: the failure of the earliest entry, then of the earliest phase."""
        order = sorted((n is None, n or 0, phase, code, n) for phase, (code, n) in self.found.items())
        self.code, self.n = (order[0][3], order[0][4]) if order else (None, None)
        self.level = 1 if self.earned and not self.found else 0

    def fail(self, phase, code, n):
        self.found.setdefault(phase, (code, n))

    def entry(self, n, e, ident, last):
        if ident != e["id"]:
            self.fail(HASHES, "ledger.id_mismatch", n)
        m = HEADER_RE.fullmatch(e["header"])
        if not m or len(e["header"]) > 1024 or (int(m[3]) == 0) != (m[4] is None) or int(m[3]) > MAX_SAFE or int(m[6]) > MAX_SAFE:
            return self.fail(LOAD, "ledger.bad_header", n)
        bind, kind, number, size = m[1].decode(), m[2].decode(), int(m[3]), int(m[6])
        if n > 0 and number > 0 and m[4].decode() != last.hex():
            self.fail(PARENTS, "ledger.parent_mismatch", n)
        if m[5].decode() != self.run:
            self.fail(PARENTS, "ledger.wrong_run", n)
        if number != n:
            self.fail(SEQUENCE, "ledger.sequence_gap", n)
        body = self.body(n, e, kind, m[8].decode(), bind, size)
        if self.sealed or (n == 0) != (kind == "open"):
            self.fail(SEQUENCE, "ledger.bad_order", n)
        if kind == "call":
            self.calls.add(n)
        elif kind == "outcome":
            if body is None:
                self.unread += 1
            else:
                call = body.get("refs", {}).get("call")
                if not is_count(call) or call not in self.calls:
                    self.fail(SEQUENCE, "ledger.bad_order", n)
                else:
                    self.calls.discard(call)
        elif kind == "seal":
            self.sealed = True
            if body is not None:
                if len(self.calls) > self.unread:
                    self.fail(SEQUENCE, "ledger.bad_order", n)
                self.recorded = body.get("world", self.recorded)
        elif kind == "commit":
            self.commit(n, e, body)
        elif kind not in KINDS:
            self.fail(HASHES, "ledger.bad_content", n)

    def body(self, n, e, kind, typ, bind, size):
        if e["body"] is None:
            self.withheld += 1
            return None
        if len(e["body"]) != size:
            self.fail(HASHES, "ledger.bind_mismatch", n)
        if mac(e["salt"], e["body"]).hex() != bind:
            return self.fail(HASHES, "ledger.bind_mismatch", n)
        try:
            if typ != "application/json":
                raise Bad("ledger.bad_content")
            body = check_body(kind, e["body"])
        except Bad as x:
            return self.fail(HASHES, x.code, n)
        att = body.get("att", [])
        for i, a in enumerate(att):
            if i >= 64 or not check_att(a):
                return self.fail(HASHES, "ledger.bad_content", n)
            if i >= len(e["parts"]):
                continue
            if e["parts"][i] is None:
                self.withheld += 1
                continue
            salt, pieces = e["parts"][i]
            if sum(map(len, pieces)) != a["size"] or mac(salt, b"".join(pieces)).hex() != a["bind"]:
                self.fail(HASHES, "ledger.bind_mismatch", n)
        if len(e["parts"]) != len(att):
            self.fail(HASHES, "ledger.bad_content", n)
        return body

    def commit(self, n, e, body):
        if self.lost:
            return
        if body is None:
            self.lost = True
            if e["body"] is not None:
                self.fail(FOLD, "ledger.content_absent", n)
            return
        try:
            changes = [self.change(c) for c in body["delta"]]  # all are read before the first is applied
            for c in changes:
                self.apply(c, e, body)
        except (Bad, KeyError):
            self.lost = True
            self.fail(FOLD, "ledger.bad_delta", n)

    def change(self, c):
        if not isinstance(c, dict):
            raise Bad("ledger.bad_delta")
        version, att, value = c.get("version"), c.get("att"), "value" in c
        numbered, attached = type(version) is int and version > 0, is_text(att)
        members = {"op", "kind", "id"} | ({"value"} if value else set()) | ({"att"} if attached else set()) | ({"version"} if numbered else set())
        form = {"create": not numbered, "replace": numbered, "retract": numbered}
        if (set(c) != members or not is_text(c["kind"]) or not is_text(c["id"]) or value and attached
                or not form.get(c["op"] if isinstance(c["op"], str) else "", False) or (value or attached) == (c["op"] == "retract")):
            raise Bad("ledger.bad_delta")
        return c

    def apply(self, c, e, body):
        if "att" in c:
            parts = [p for a, p in zip(body.get("att", []), e["parts"]) if a["name"] == c["att"]]
            if not parts:
                raise Bad("ledger.bad_delta")
            part = parts[0]
            tag = b"reprise/world/v1\n"
            value = None if part is None else encode(mac(sha(tag, b"attachment"), b"".join(part[1])).hex())
        else:
            value = encode(c["value"]) if "value" in c else None
        key = (c["kind"].encode(), c["id"].encode())
        old = self.world.get(key)
        if (c["op"] == "create") == (old is not None) or old is not None and old[0] != c["version"]:
            raise Bad("ledger.bad_delta")
        self.absent -= old is not None and old[1] is None
        if c["op"] == "retract":
            del self.world[key]
            return
        self.absent += value is None
        self.world[key] = ((old[0] if old else 0) + 1, value)

    def world_hash(self):
        lines = (b"[" + encode(k[0].decode()) + b"," + encode(k[1].decode()) + b",%d," % v[0] + v[1] + b"]\n" for k, v in sorted(self.world.items()))
        return sha(b"reprise/world/v1\n", *lines).hex()

    def head(self, n, raw, root, last):
        try:
            env = envelope(raw)
            if env[0] != "application/vnd.reprise.head.v1+json":
                raise Bad("ledger.bad_head")
            h = parse(env[1], "ledger.bad_head")
            if (not isinstance(h, dict) or set(h) != {"count", "last", "root", "run", "t", "v"} or not is_count(h["count"]) or h["count"] < 1
                    or not is_hex(h["last"]) or not is_hex(h["root"]) or not is_int(h["v"], 1)
                    or not isinstance(h["run"], str) or not isinstance(h["t"], str)):
                raise Bad("ledger.bad_head")
        except Bad as x:
            return self.fail(SIGNATURES, x.code, n)
        if h["run"] != self.run or h["count"] != n + 1 or h["root"] != root.hex() or h["last"] != last.hex():
            return self.fail(SIGNATURES, "ledger.head_mismatch", n)
        if self.keys is None:
            return None
        key = self.keys.get(env[2])
        if key is None or key[1] != "head" or not signed(key[0], env, env[0]) or key[2] == 2:
            return self.fail(SIGNATURES, "ledger.head_signature", n)
        if self.trusted:
            self.earned = n + 1


# --- what a branch stands on ---

MAX_LINEAGE = 256

def source_of(section):
    """Returns the reference (run, n, id) of a branch, None for another run, "bad" for a branch without one, "hidden" if the open cannot be read."""
    e = section["entries"][0] if section["entries"] else None
    m = HEADER_RE.fullmatch(e["header"]) if e and e["body"] is not None else None
    if not m or m[2] != b"open" or sha(b"reprise/entry/v1\n", e["header"]) != e["id"] or mac(e["salt"], e["body"]).hex() != m[1].decode():
        return "hidden"
    try:
        v = parse(e["body"], "ledger.bad_content")
    except Bad:
        return "hidden"
    if not isinstance(v, dict) or v.get("mode") != "branch":
        return None
    refs = v.get("refs")
    ref = refs.get("source") if isinstance(refs, dict) else None
    if (not isinstance(ref, dict) or set(ref) != {"id", "n", "run"} or not is_hex(ref["id"]) or not is_count(ref["n"])
            or not isinstance(ref["run"], str) or not re.fullmatch(UUID, ref["run"].encode())):
        return "bad"
    return ref["run"], ref["n"], ref["id"]

class Runs:
    """Verifies the runs of a bundle, each on the beginning of the run that it stands on."""
    def __init__(self, bundle, roots):
        self.b, self.roots, self.sources, self.climbed = bundle, roots, {}, 0

    def stand(self, run, expect, whole):
        b, empty = self.b, {"manifests": [], "entries": [], "heads": []}
        i = b.runs.index(run) if run in b.runs else 0
        section = b.sections[i] if i < len(b.sections) else empty
        damage = b.damage and (b.damage[0], b.damage[2] if b.damage[1] == i else None)
        ref, source, base, broken, missing = source_of(section), None, ({}, 0, False), False, False
        if ref is not None:
            base = ({}, 0, True)
        if ref == "bad":
            broken = True
        elif isinstance(ref, tuple):
            if ref[0] not in b.runs:
                missing = True
            elif ref in self.sources and self.sources[ref] is None or ref not in self.sources and self.climbed >= MAX_LINEAGE:
                broken = True
            else:
                if ref not in self.sources:
                    self.sources[ref], self.climbed = None, self.climbed + 1
                    self.sources[ref] = self.stand(ref[0], (ref[1] + 1, ref[2]), False)
                    self.climbed -= 1
                source = self.sources[ref]
                if source.depth >= MAX_LINEAGE:
                    broken = True
                else:
                    base = (source.world, source.absent, source.lost or bool(source.found))
        v = Verifier(run, section, damage, self.roots, expect, base, whole)
        v.source, v.depth = source, source.depth + 1 if source else 0
        v.withheld += missing
        if broken:
            v.fail(LOAD, "drive.broken_lineage", 0)
        return v

def blame(v):
    """What the runs fail that v stands on is its failure, in the same phase."""
    below, s = [], v.source
    while s:
        below, s = [s] + below, s.source
    for s in below:
        for phase, (code, n) in s.found.items():
            v.fail(phase, code, n if s.run == v.run else None)

def trust(arg):
    try:
        if re.fullmatch("[0-9a-f]{64}", arg):
            return check_key(bytes.fromhex(arg))
        with open(arg) as f:
            return spki("".join(line.strip() for line in f if not line.startswith("-----")))
    except (OSError, ValueError, Bad):
        sys.exit(finish({"verdict": "error", "level": 0, "code": "sign.bad_key", "entry": None}, 2))

def finish(result, status):
    print(json.dumps(result))
    return status

def verify(raw, roots, asked, expect):
    try:
        b = Bundle(raw)
    except Bad as e:
        return finish({"verdict": "error", "level": 0, "code": e.code, "entry": None}, 2)
    runs = Runs(b, roots)
    results = [runs.stand(run, expect if i == 0 else None, True) for i, run in enumerate(b.runs or [""])]
    v = results[0]
    for other in results[1:]:
        other.close()
        if other.found:
            v.fail(PINS, other.code, None)
    blame(v)
    v.close()
    if any(r.found for r in results):
        verdict = "failed"
    elif v.level < asked:
        verdict = "below"
    else:
        verdict = "partial" if any(r.withheld for r in results) else "verified"
    status = {"verified": 0, "failed": 3}.get(verdict, 1)
    return finish({"verdict": verdict, "level": v.level, "code": v.code, "entry": v.n}, status)

def main():
    a = argparse.ArgumentParser()
    a.add_argument("file", nargs="+")
    a.add_argument("--trust", action="append", default=[])
    a.add_argument("--level", type=int)
    a.add_argument("--expect-head")
    o = a.parse_args()
    roots = [trust(k) for k in o.trust]
    expect = None
    if o.expect_head:
        count, ident = o.expect_head.split(":")
        expect = (int(count), ident)
    asked = o.level if o.level is not None else int(bool(roots))
    worst = 0
    for path in o.file:
        if not os.path.isfile(path):
            status = finish({"verdict": "error", "level": 0, "code": "archive.no_such_file", "entry": None}, 2)
        else:
            with open(path, "rb") as f:
                status = verify(f.read(), roots, asked, expect)
        worst = max(worst, status)
    return worst


if __name__ == "__main__":
    sys.exit(main())
