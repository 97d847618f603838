package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/govern"
)

// maxMatter is how long what is to be signed may be, in bytes.
const maxMatter = 1 << 20

type signFlags struct {
	as, role, verb, reason string
	with                   string
}

// governSign is for acts that go to a server, which signs nothing for anybody.
func (a *app) governSign() *cobra.Command {
	var f signFlags
	cmd := &cobra.Command{
		Use: "sign [FILE]", Short: "Sign an act that a server takes over HTTP",
		Long: `Sign an act that a server takes over HTTP, which signs nothing for anybody, and
print it as the body of a request: {"act": …}. What is signed comes from FILE or
standard input, as the server gives it: an object with the member matter, or the
matter {bound, ledger, subject} itself. The verb is its member verb, or --verb.

With --with FILE the act is put into that object: POST /replay/request takes what
was sent to POST /replay/matter, and the act.`,
		Example: example(
			"curl -s -d @wish.json -H 'Content-Type: application/json' $SERVER/replay/matter | reprise govern sign --with wish.json",
			"reprise govern sign halt.json --verb clear --as alice --role Council",
		),
		Args: between(0, 1, "a file"),
		RunE: func(_ *cobra.Command, args []string) error { return a.signAct(argument(args, 0), &f) },
	}
	fs := cmd.Flags()
	fs.StringVar(&f.as, "as", keys.Operator, "sign with this key (see keys actor)")
	fs.StringVar(&f.role, "role", string(govern.Operator), "act in this role")
	fs.StringVar(&f.verb, "verb", "", "replay, propose, approve, deny, abstain, halt, clear or enrol")
	fs.StringVar(&f.reason, "reason", "", "why, for people who read the ledger")
	fs.StringVar(&f.with, "with", "", "a file with the object into which the act is put")
	return cmd
}

func (a *app) signAct(file string, f *signFlags) error {
	const op = "cli.sign"
	v, err := a.readObject(file)
	if err != nil {
		return err
	}
	m := v
	if v.Has("matter") {
		m = v.Get("matter")
	}
	verb := f.verb
	if verb == "" {
		verb = v.Get("verb").Str()
	}
	if verb == "" {
		return fault.New(ErrUsage, op, "what is to be signed names no verb; give one with --verb")
	}
	bound, err := canon.ParseDigest(m.Get("bound").Str())
	if err != nil {
		return fault.Wrap(govern.ErrAct, op, err, "what is to be signed has no matter {bound, ledger, subject}")
	}
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	signed, err := k.SignAct(f.as, govern.Act{
		Verb: govern.Verb(verb), Actor: f.as, Role: roleOf(f.role), Reason: f.reason,
		Matter: govern.Matter{Ledger: m.Get("ledger").Str(), Subject: m.Get("subject").Str(), Bound: bound},
	}, a.now())
	if err != nil {
		return err
	}
	body := canon.Object()
	if f.with != "" {
		if body, err = a.readObject(f.with); err != nil {
			return err
		}
	}
	b, err := canon.Encode(body.With("act", signed), canon.Foreign)
	if err != nil {
		return err
	}
	a.printed = true
	a.printf("%s\n", b)
	return nil
}

// readObject reads a JSON object from a file, or from standard input if the name
// is empty.
func (a *app) readObject(name string) (canon.Value, error) {
	const op = "cli.sign"
	in := a.stdin
	if name != "" {
		f, err := os.Open(name)
		if err != nil {
			return canon.Value{}, fault.Wrap(ErrFile, op, err, "%s", name)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxMatter+1))
	if err != nil {
		return canon.Value{}, fault.Wrap(ErrFile, op, err, "what is to be signed")
	}
	if len(b) > maxMatter {
		return canon.Value{}, fault.New(ErrUsage, op, "what is to be signed has at most %d bytes", maxMatter)
	}
	v, err := canon.Parse(b)
	if err == nil && v.Kind() != canon.KindObject {
		err = fault.New(ErrUsage, op, "not an object")
	}
	if err != nil {
		return v, fault.Wrap(ErrUsage, op, err, "what is to be signed")
	}
	return v, nil
}
