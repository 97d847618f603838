package server

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/reprise-dev/reprise/api"
	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

const (
	foreignPath = "/v1/openthymos/verify"
	// maxForeign is how large a foreign ledger may be: it is held in memory.
	maxForeign = 64 << 20
	// manyForeign is how many of them may be held at the same time.
	manyForeign = 2
)

func (s *Server) foreignRoutes() {
	huma.Register(s.api, huma.Operation{
		OperationID: "verifyOpenThymos", Method: http.MethodPost, Path: foreignPath, Tags: []string{tagProof},
		Summary: "Verify a ledger of OpenThymos",
		Description: "The body is an export of one trajectory: a list of entries, an object with the member entries, or JSON lines. " +
			"There are two verdicts: what that system itself would say, and what may be believed. What is wrong with the ledger is in them, and the answer is 200 all the same. " +
			"Nothing is run and nothing is stored.",
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			api.ForeignType: {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}},
		}},
		Errors: failures(),
	}, func(ctx context.Context, in *foreignInput) (*answer[api.ForeignReport], error) {
		return of(s.verifyForeign(ctx, in))
	})
}

// foreignInput is a ledger and what is known besides it. The body is taken as
// it comes, so that only so many ledgers are in memory.
type foreignInput struct {
	Compiler   string `query:"compiler" maxLength:"256" doc:"The compiler version that every commit must name"`
	Signer     string `query:"signer" maxLength:"64" doc:"The public key that must have signed every commit, in hex"`
	PolicySet  string `query:"policy_set" maxLength:"256" doc:"The policy set hash that every commit must declare"`
	ExpectHead string `query:"expect_head" maxLength:"96" doc:"ID of the last entry, or COUNT:ID"`
	World      string `query:"world" maxLength:"64" doc:"Hash of the world that was observed"`
	Anchor     string `query:"anchor" maxLength:"1024" doc:"A published anchor: a JSON object {trajectory_id, entry_count, head_seq, root}"`

	body io.Reader
}

// Resolve implements [huma.Resolver].
func (in *foreignInput) Resolve(hc huma.Context) []error {
	in.body = hc.BodyReader()
	return nil
}

func (s *Server) verifyForeign(ctx context.Context, in *foreignInput) (api.ForeignReport, error) {
	out := api.ForeignReport{Ignored: []string{}}
	opts, err := in.options()
	if err != nil {
		return out, err
	}
	if s.foreign.Add(1) > manyForeign {
		s.foreign.Add(-1)
		return out, fault.New(ErrBusy, "server.openthymos", "%d ledgers are being verified, which is the limit", manyForeign)
	}
	defer s.foreign.Add(-1)
	b, err := io.ReadAll(in.body)
	if err != nil {
		return out, bodyError(err)
	}
	file, err := openthymos.Read(b)
	if err != nil {
		return out, err
	}
	r, err := openthymos.Verify(func(yield func(openthymos.Entry, error) bool) {
		for e, err := range file.All() {
			if ctx.Err() != nil {
				yield(e, ctx.Err())
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}, opts)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(r.Value().String()), &out); err != nil {
		return out, fault.Wrap(fault.ErrUnknown, "server.openthymos", err, "the report")
	}
	out.Ignored = append(out.Ignored, file.Ignored...)
	return out, nil
}

func (in *foreignInput) options() (*openthymos.Options, error) {
	o := &openthymos.Options{Compiler: in.Compiler}
	if in.PolicySet != "" {
		o.PolicySet = &in.PolicySet
	}
	if in.Signer != "" {
		k, err := publicKey(in.Signer)
		if err != nil {
			return nil, err
		}
		o.Signer = k
	}
	if in.ExpectHead != "" {
		count, id, err := parseHead(in.ExpectHead)
		if err != nil {
			return nil, err
		}
		o.Head = &openthymos.Head{Count: count, ID: id}
	}
	var err error
	if in.World != "" {
		if o.World, err = openthymos.ParseObservation(canon.String(strings.ToLower(in.World))); err != nil {
			return nil, fault.Wrap(ErrRequest, "server.openthymos", err, "world")
		}
	}
	if in.Anchor != "" {
		v, err := canon.Parse([]byte(in.Anchor))
		if err != nil {
			return nil, fault.New(ErrRequest, "server.openthymos", "anchor is no JSON")
		}
		if o.Anchor, err = openthymos.ParseAnchor(v); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// bodyError is what a body that could not be read is: over the limit, or
// broken off.
func bodyError(err error) error {
	if _, ours := errors.AsType[*fault.Error](err); ours {
		return err
	}
	return fault.New(ErrBody, "server", "the body broke off")
}

// publicKey reads a key in hex.
func publicKey(text string) (sign.PublicKey, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return sign.PublicKey{}, fault.New(ErrRequest, "server.key", "a key is 64 hexadecimal digits")
	}
	return sign.ParseKey(b)
}

// parseHead reads ID, which is that of the last entry, or COUNT:ID.
func parseHead(text string) (count uint64, id canon.Digest, err error) {
	digits := text
	if n, rest, ok := strings.Cut(text, ":"); ok {
		digits = rest
		if count, err = strconv.ParseUint(n, 10, 53); err != nil || count == 0 {
			return 0, id, fault.New(ErrRequest, "server.head", "a head is the ID of an entry, or COUNT:ID")
		}
	}
	if id, err = canon.ParseDigest(strings.ToLower(digits)); err != nil {
		return 0, id, fault.New(ErrRequest, "server.head", "a head is the ID of an entry, or COUNT:ID")
	}
	return count, id, nil
}
