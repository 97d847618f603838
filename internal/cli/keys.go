package cli

import (
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/keys"
	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
	"github.com/reprise-dev/reprise/kernel/sign"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Keys that sign what is recorded", GroupID: "more",
		Long: `Keys that sign what is recorded.

First use makes a root key, which signs lists of keys and nothing else, and a
head key, which signs the runs. They are in your configuration folder
(REPRISE_CONFIG), outside every store. Give others the public root key:
it is what they pin with "verify --trust".`,
		Example: example("reprise keys list", "reprise keys export -o key.pub", "reprise keys rotate"),
		Args:    exactly(0, "list, rotate, revoke, actor or export"),
		RunE:    func(*cobra.Command, []string) error { return a.keysList() },
	}
	var out string
	export := &cobra.Command{
		Use: "export", Short: "Print the public root key, for others to pin",
		Example: example("reprise keys export -o key.pub", "reprise verify run.reprise --trust key.pub"),
		Args:    exactly(0, "no argument"),
		RunE:    func(*cobra.Command, []string) error { return a.keysExport(out) },
	}
	export.Flags().StringVarP(&out, "output", "o", "", "write to this file instead of standard output")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the keys and what they may do", Example: example("reprise keys list"),
			Args: exactly(0, "no argument"),
			RunE: func(*cobra.Command, []string) error { return a.keysList() },
		},
		&cobra.Command{
			Use: "rotate", Short: "Make a new head key and retire the one before", Example: example("reprise keys rotate"),
			Long: "Make a new head key and retire the one before. What that one signed stands.",
			Args: exactly(0, "no argument"),
			RunE: func(*cobra.Command, []string) error { return a.keysRotate() },
		},
		&cobra.Command{
			Use: "revoke ID", Short: "Revoke a head key: its signatures fail from now on", Example: example("reprise keys revoke 3f9a"),
			Long: "Revoke a head key, named by the beginning of its id: its signatures fail from\nnow on, those on earlier runs too. If it was the one that signs, a new one is made.",
			Args: exactly(1, "the id of a key"),
			RunE: func(_ *cobra.Command, args []string) error { return a.keysRevoke(args[0]) },
		},
		&cobra.Command{
			Use: "actor [NAME]", Short: "Print the public key of somebody who signs acts, and make it at first use",
			Long: `Print the public key NAME, under which you sign approvals and other acts, and make
it at first use; without a name, list them. "operator" issues the writs of your
trajectories. Give others the public key for the actors of their task files.`,
			Example: example("reprise keys actor alice", "reprise keys actor"),
			Args:    between(0, 1, "the name of an actor"),
			RunE:    func(_ *cobra.Command, args []string) error { return a.keysActor(argument(args, 0)) },
		},
		export,
	)
	return cmd
}

// keysActor prints one key of an actor, or lists all.
func (a *app) keysActor(name string) error {
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	names := []string{name}
	if name == "" {
		if names, err = k.Names(keys.Actors); err != nil {
			return err
		}
	}
	list := make([]canon.Value, len(names))
	t := newTable(-1, "ACTOR", "PUBLIC KEY")
	for i, n := range names {
		p, err := k.Named(keys.Actors, n)
		if err != nil {
			return err
		}
		public := hex.EncodeToString(p.Public().Raw())
		list[i] = canon.Object(canon.M("name", canon.String(n)), canon.M("key", canon.String(public)))
		t.add(a.out.name(n), public)
	}
	switch {
	case a.json && name != "":
		a.print(list[0])
	case a.json:
		a.print(canon.Object(canon.M("actors", canon.Array(list...))))
	case len(names) > 0:
		t.write(a.stdout, a.out)
	default:
		a.sayf("no actor has a key here yet; make one: %s keys actor NAME\n", a.self)
	}
	return nil
}

func (a *app) keysList() error {
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	signs := ""
	if s, err := k.Signer(); err == nil {
		signs = s.Public().ID().String()
	} else if !a.json {
		a.sayf("%s %s\n", a.err.warn("no key signs:"), err)
	}
	if a.json {
		a.print(keysValue(k, signs))
		return nil
	}
	t := newTable(-1, "KEY", "ROLE", "STATE", "")
	t.add(k.Root().ID().String(), "root", "", a.out.dim("signs the lists of keys"))
	for _, l := range k.List() {
		id, note := l.Key.ID().String(), ""
		switch {
		case id == signs:
			note = a.out.dim("signs your runs")
		case !l.Here:
			note = a.out.dim("private half is not here")
		}
		t.add(id, l.Role, a.keyState(l.State), note)
	}
	t.write(a.stdout, a.out)
	a.sayf("%s\n", a.err.dim(k.Dir()))
	return nil
}

func (a *app) keyState(s sign.State) string {
	switch s {
	case sign.Active:
		return a.out.good(string(s))
	case sign.Retired:
		return a.out.warn(string(s))
	default:
		return a.out.bad(string(s))
	}
}

func keysValue(k *keys.Keys, signs string) canon.Value {
	var list []canon.Value
	for _, l := range k.List() {
		list = append(list, canon.Object(
			canon.M("id", canon.String(l.Key.ID().String())),
			canon.M("role", canon.String(l.Role)),
			canon.M("state", canon.String(string(l.State))),
			canon.M("private", canon.Bool(l.Here)),
			canon.M("signs", canon.Bool(l.Key.ID().String() == signs)),
		))
	}
	return canon.Object(
		canon.M("root", canon.String(k.Root().ID().String())),
		canon.M("manifests", canon.Int(int64(len(k.Manifests())))),
		canon.M("folder", canon.String(k.Dir())),
		canon.M("keys", canon.Array(list...)),
	)
}

func (a *app) keysRotate() error {
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	signs, err := k.Rotate()
	if err != nil {
		return err
	}
	if a.json {
		a.print(keysValue(k, signs.ID().String()))
		return nil
	}
	a.printf("key %s signs your runs from now on\n", signs.ID())
	return nil
}

func (a *app) keysRevoke(id string) error {
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	revoked, signs, err := k.Revoke(id)
	if err != nil {
		return err
	}
	if a.json {
		a.print(keysValue(k, signs.ID().String()))
		return nil
	}
	a.printf("key %s is revoked\nkey %s signs your runs\n", revoked.ID(), signs.ID())
	return nil
}

func (a *app) keysExport(out string) error {
	k, err := a.openKeys()
	if err != nil {
		return err
	}
	if out != "" {
		if err := writeFile(out, k.Export(), 0o644); err != nil {
			return err
		}
	}
	switch {
	case a.json:
		a.print(canon.Object(
			canon.M("root", canon.String(k.Root().ID().String())),
			canon.M("pem", canon.String(string(k.Export()))),
		))
	case out == "":
		_, _ = a.stdout.Write(k.Export())
	default:
		a.printf("wrote %s, the public root key %s\n", out, k.Root().ID())
		a.next(a.stdout, a.out, "verify FILE --trust "+quote(out))
	}
	return nil
}

// writeFile writes a file whole or not at all.
func writeFile(path string, data []byte, mode os.FileMode) error {
	const op = "cli.writeFile"
	f, err := os.CreateTemp(filepath.Dir(path), ".reprise-")
	if err != nil {
		return fault.Wrap(ErrFile, op, err, "%s", path)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	return fault.Wrap(ErrFile, op, err, "%s", path)
}

// readTrust reads the public root keys of --trust.
func readTrust(files []string) ([]sign.PublicKey, error) {
	var out []sign.PublicKey
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, fault.Wrap(ErrFile, "cli.trust", err, "the key file %s", f)
		}
		list, err := keys.ParsePublic(b)
		if err != nil {
			return nil, fault.Wrap(fault.CodeOf(err), "cli.trust", err, "%s", f)
		}
		out = append(out, list...)
	}
	return out, nil
}
