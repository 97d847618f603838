package cli

import (
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/engine/trajectory/openthymos"
	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/ledger"
	"github.com/reprise-dev/reprise/kernel/sign"
)

// formatOpenThymos is what --format calls the ledgers of OpenThymos.
const formatOpenThymos = "openthymos"

// openThymosFlags are the pins of verify --format openthymos.
type openThymosFlags struct {
	format    string
	compiler  string
	signer    string
	policySet string
	world     string
	source    string
	anchor    string
}

func (f *openThymosFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "format", "", "read a file of another system: "+formatOpenThymos)
	cmd.Flags().StringVar(&f.compiler, "compiler", "", "with --format: the compiler version that every commit must name")
	cmd.Flags().StringVar(&f.signer, "signer", "", "with --format: the public key that must have signed every commit, in hexadecimal or as a PEM file")
	cmd.Flags().StringVar(&f.policySet, "policy-set", "", "with --format: the policy set hash that every commit must declare")
	cmd.Flags().StringVar(&f.world, "world", "", "with --format: a file with the world that was observed, or with its hash")
	cmd.Flags().StringVar(&f.source, "source", "", "with --format: the ledger that a branch left")
	cmd.Flags().StringVar(&f.anchor, "anchor", "", "with --format: a file with a published anchor of the ledger")
}

// check refuses flags that belong to the other kind of ledger.
func (f *openThymosFlags) check(cmd *cobra.Command) error {
	const op = "cli.verify"
	foreign := []string{"compiler", "signer", "policy-set", "world", "source", "anchor"}
	switch f.format {
	case "":
		for _, name := range foreign {
			if cmd.Flags().Changed(name) {
				return fault.New(ErrUsage, op, "--%s needs --format %s", name, formatOpenThymos)
			}
		}
	case formatOpenThymos:
		for _, name := range []string{"level", "trust", "partial"} {
			if cmd.Flags().Changed(name) {
				return fault.New(ErrUsage, op, "--%s does not go with --format %s, whose ledgers have no signed heads", name, formatOpenThymos)
			}
		}
	default:
		return fault.New(ErrUsage, op, "%q is no format; there is %s", f.format, formatOpenThymos)
	}
	return nil
}

// verifyOpenThymos prints both verdicts; strict decides the exit status.
func (a *app) verifyOpenThymos(cmd *cobra.Command, path, head string, f *openThymosFlags) error {
	opts, err := f.options(cmd)
	if err != nil {
		return err
	}
	if opts.Head, err = openThymosHead(head); err != nil {
		return err
	}
	file, err := readOpenThymos(path)
	if err != nil {
		return err
	}
	stop := a.progress("verifying")
	verified, err := openthymos.Verify(file.All(), opts)
	stop()
	if err != nil {
		return err
	}
	r := verified.Replay()
	if r.Run == "" {
		r.Run = ledger.RunID(clean(path))
	}
	if len(file.Ignored) > 0 {
		r.Remarks = append(r.Remarks, "the file holds more than the ledger, which was not looked at: "+strings.Join(file.Ignored, ", "))
	}
	if a.json {
		a.status = r.Verdict.ExitStatus()
		a.print(r.Value().With(formatOpenThymos, verified.Value()))
		return nil
	}
	a.report(r)
	return nil
}

func (f *openThymosFlags) options(cmd *cobra.Command) (*openthymos.Options, error) {
	o := &openthymos.Options{Compiler: f.compiler}
	if cmd.Flags().Changed("policy-set") {
		o.PolicySet = &f.policySet
	}
	var err error
	if f.signer != "" {
		if o.Signer, err = readSigner(f.signer); err != nil {
			return nil, err
		}
	}
	if f.world != "" {
		v, err := readValue(f.world)
		if err != nil {
			return nil, err
		}
		if o.World, err = openthymos.ParseObservation(v); err != nil {
			return nil, fault.Wrap(fault.CodeOf(err), "cli.verify", err, "%s", f.world)
		}
	}
	if f.anchor != "" {
		v, err := readValue(f.anchor)
		if err != nil {
			return nil, err
		}
		if o.Anchor, err = openthymos.ParseAnchor(v); err != nil {
			return nil, fault.Wrap(fault.CodeOf(err), "cli.verify", err, "%s", f.anchor)
		}
	}
	if f.source != "" {
		file, err := readOpenThymos(f.source)
		if err != nil {
			return nil, err
		}
		o.Source = file.All()
	}
	return o, nil
}

func readOpenThymos(path string) (*openthymos.File, error) {
	b, err := readLimited(path, openthymos.MaxFile)
	if err != nil {
		return nil, err
	}
	file, err := openthymos.Read(b)
	return file, fault.Wrap(fault.CodeOf(err), "cli.verify", err, "%s", path)
}

// readValue reads a JSON value, or a bare hash.
func readValue(path string) (canon.Value, error) {
	b, err := readLimited(path, openthymos.MaxFile)
	if err != nil {
		return canon.Value{}, err
	}
	b = bytes.TrimSpace(b)
	if d, err := canon.ParseDigest(string(b)); err == nil {
		return canon.String(d.String()), nil
	}
	v, err := canon.Parse(b)
	return v, fault.Wrap(ErrFile, "cli.verify", err, "%s", path)
}

// readLimited reads a file of at most limit bytes, and one byte more of a
// larger one.
func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(ErrFile, "cli.verify", err, "the file")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	return b, fault.Wrap(ErrFile, "cli.verify", err, "%s", path)
}

func readSigner(s string) (sign.PublicKey, error) {
	if raw, err := hex.DecodeString(s); err == nil {
		return sign.ParseKey(raw)
	}
	b, err := os.ReadFile(s)
	if err != nil {
		return sign.PublicKey{}, fault.New(ErrUsage, "cli.verify", "%q is neither a key of 64 hexadecimal digits nor a file", s)
	}
	list, err := keys.ParsePublic(b)
	if err != nil {
		return sign.PublicKey{}, fault.Wrap(fault.CodeOf(err), "cli.verify", err, "%s", s)
	}
	if len(list) != 1 {
		return sign.PublicKey{}, fault.New(ErrUsage, "cli.verify", "%s holds %d keys, and a commit has one signature", s, len(list))
	}
	return list[0], nil
}

// openThymosHead reads ID, which is that of the last entry, or COUNT:ID.
func openThymosHead(s string) (*openthymos.Head, error) {
	if s == "" {
		return nil, nil
	}
	var h openthymos.Head
	var err error
	id := s
	if count, rest, ok := strings.Cut(s, ":"); ok {
		id = rest
		if h.Count, err = strconv.ParseUint(count, 10, 63); err != nil || h.Count == 0 {
			return nil, fault.New(ErrUsage, "cli.verify", "%q is not COUNT:ID or the ID of the last entry", s)
		}
	}
	if h.ID, err = canon.ParseDigest(strings.ToLower(id)); err != nil {
		return nil, fault.New(ErrUsage, "cli.verify", "%q is not COUNT:ID or the ID of the last entry", s)
	}
	return &h, nil
}
