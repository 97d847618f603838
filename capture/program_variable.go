package capture

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// Agents that honour variables, but have files of their own in which their
// user may have named another address. Who only set the variables would send
// goose to the public provider instead of there, and would see nothing of
// aider.

// planWith returns the upstreams of some providers as if the variables that
// are set here were in the environment; those that are there stay. They take
// the places of the ones that a program without such files would have, under
// the same names: the record is replayed where nobody has these files.
func (s *start) planWith(set map[string]string, providers ...string) (ups []Upstream, err error) {
	env := slices.Clone(s.env)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if lookup(env, name) == "" {
			env = append(env, name+"="+set[name])
		}
	}
	for _, c := range Clients() {
		if !slices.Contains(providers, c.Provider) {
			continue
		}
		main, more, err := c.plan(env, s.flags[c.Provider])
		if err != nil {
			return nil, fault.Wrap(ErrRedirect, "capture.Run", err, "the configuration of %s", s.program.Title)
		}
		ups = append(append(ups, main), more...)
	}
	return ups, nil
}

// goose looks for OPENAI_HOST in the environment, for OPENAI_BASE_URL there and
// in its config.yaml, and then for OPENAI_HOST in that file; for the hosts of
// other providers in the environment and then in the file. Of the two for
// OpenAI only a host is asked under /v1 whatever it is.
func goose(s *start) (*redirect, error) {
	const base, host = "OPENAI_BASE_URL", "OPENAI_HOST"
	text, _, err := s.read(s.xdg("XDG_CONFIG_HOME", ".config", "goose", "config.yaml"))
	if err != nil {
		return nil, err
	}
	file, set := plainYAML(string(text)), map[string]string{}
	for _, name := range []string{base, host, "ANTHROPIC_HOST", "GOOGLE_HOST"} {
		if file[name] != "" {
			set[name] = file[name]
		}
	}
	based := lookup(s.env, host) == "" && firstOf(lookup(s.env, base), set[base]) != ""
	if based {
		delete(set, host)
	} else {
		delete(set, base)
	}
	if len(set) == 0 && !based {
		return nil, nil
	}
	ups, err := s.planWith(set, "openai", "anthropic", "gemini")
	if err != nil {
		return nil, err
	}
	for i := range ups {
		if u := &ups[i]; based && u.Name == "openai" && !strings.HasSuffix(strings.TrimSuffix(u.URL.Path, "/"), "/v1") {
			u.Vars = slices.DeleteFunc(u.Vars, func(v Variable) bool { return v.Name == host })
		}
	}
	return &redirect{upstreams: ups}, nil
}

// aider honours OPENAI_API_BASE, but an address on its command line, in its
// own variable, in its .aider.conf.yml or in a .env wins over that, and only
// the command line wins over all of these.
func aider(s *start) (*redirect, error) {
	const option, variable = "--openai-api-base", "OPENAI_API_BASE"
	address, config, rest := "", "", []string{}
	for i := 0; i < len(s.args); i++ {
		name, value, ok := strings.Cut(s.args[i], "=")
		if !ok && (name == option || name == "--config" || name == "-c") && i+1 < len(s.args) {
			value = s.args[i+1]
		}
		switch {
		case name == option:
			address = value
			if !ok {
				i++
			}
			continue
		case (name == "--config" || name == "-c") && value != "":
			config = value
		}
		rest = append(rest, s.args[i])
	}
	if address == "" {
		var err error
		if address, err = s.aiderSettings(config); err != nil {
			return nil, err
		}
	}
	if address == "" {
		return nil, nil
	}
	without := *s // it wins over what is in the environment
	without.env = slices.DeleteFunc(slices.Clone(s.env), func(kv string) bool { return strings.HasPrefix(kv, variable+"=") })
	ups, err := without.planWith(map[string]string{variable: address}, "openai")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(ups, func(u Upstream) bool {
		return slices.ContainsFunc(u.Vars, func(v Variable) bool { return v.Name == variable })
	})
	return &redirect{
		upstreams: ups,
		args:      rest,
		prefix:    func(base func(string) string) []string { return []string{option, base(ups[i].Name)} },
	}, nil
}

// aiderSettings returns the address that aider would find in its files, of
// which those that are nearer to the working folder are stronger.
func (s *start) aiderSettings(config string) (address string, err error) {
	const own = "AIDER_OPENAI_API_BASE"
	dirs := []string{s.home(), s.repository(), s.dir}
	var conf, dotenv, dotown string
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		text, _, err := s.read(filepath.Join(dir, ".aider.conf.yml"))
		if err != nil {
			return "", err
		}
		conf = firstOf(plainYAML(string(text))["openai-api-base"], conf)
		if text, _, err = s.read(filepath.Join(dir, ".env")); err != nil {
			return "", err
		}
		vars := plainEnv(string(text))
		dotenv, dotown = firstOf(vars["OPENAI_API_BASE"], dotenv), firstOf(vars[own], dotown)
	}
	if config != "" {
		if !filepath.IsAbs(config) {
			config = filepath.Join(s.dir, config)
		}
		text, _, err := s.read(config)
		if err != nil {
			return "", err
		}
		conf = firstOf(plainYAML(string(text))["openai-api-base"], conf)
	}
	return firstOf(dotown, lookup(s.env, own), conf, dotenv), nil
}

// repository returns the nearest folder above the working folder that is one
// of git, or nothing.
func (s *start) repository() string {
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// plainYAML returns the texts of a mapping that stand on one line each; the
// rest of the file is passed over.
func plainYAML(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimRight(line, " \t\r\n"), ":")
		if !ok || name == "" || strings.HasPrefix(name, "#") || name != strings.TrimLeft(name, " \t-") || value != "" && value[0] != ' ' {
			continue
		}
		value, _, _ = strings.Cut(value+" ", " #")
		out[strings.Trim(name, `"'`)] = strings.Trim(strings.TrimSpace(value), `"'`)
	}
	return out
}

// plainEnv returns the variables of a .env file.
func plainEnv(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if ok && !strings.HasPrefix(name, "#") {
			value, _, _ = strings.Cut(value, " #")
			out[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return out
}
