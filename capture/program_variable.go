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

// aiderVars are the variables beside OPENAI_API_BASE by which what aider asks
// through is told where a provider is.
func aiderVars() []string {
	return []string{"OPENAI_BASE_URL", "ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"}
}

// aider honours OPENAI_API_BASE, but an address on its command line, in its
// own variable, in its .aider.conf.yml or in a .env wins over that, and only
// the command line wins over all of these. Other variables in a .env win over
// the environment too, and --set-env over them.
func aider(s *start) (*redirect, error) {
	const option, variable = "--openai-api-base", "OPENAI_API_BASE"
	var address, config, file string
	var rest []string
	for i := 0; i < len(s.args); i++ {
		name, value, ok := strings.Cut(s.args[i], "=")
		if !ok && (name == option || name == "--config" || name == "-c" || name == "--env-file") && i+1 < len(s.args) {
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
		case name == "--env-file" && value != "":
			file = value
		}
		rest = append(rest, s.args[i])
	}
	found, set, err := s.aiderSettings(config, file)
	if err != nil {
		return nil, err
	}
	if address = firstOf(address, found); address == "" && len(set) == 0 {
		return nil, nil
	}
	providers := []string{"openai"}
	if set["ANTHROPIC_API_BASE"]+set["ANTHROPIC_BASE_URL"] != "" {
		providers = append(providers, "anthropic")
	}
	names := slices.Sorted(maps.Keys(set))
	if address != "" {
		set[variable] = address
	}
	without := *s // they win over what is in the environment
	without.env = slices.DeleteFunc(slices.Clone(s.env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return set[name] != ""
	})
	ups, err := without.planWith(set, providers...)
	if err != nil {
		return nil, err
	}
	at := func(base func(string) string, variable string) string {
		i := slices.IndexFunc(ups, func(u Upstream) bool {
			return slices.ContainsFunc(u.Vars, func(v Variable) bool { return v.Name == variable })
		})
		return base(ups[i].Name)
	}
	return &redirect{
		upstreams: ups,
		args:      rest,
		prefix: func(base func(string) string) (out []string) {
			if address != "" {
				out = append(out, option, at(base, variable))
			}
			for _, name := range names {
				out = append(out, "--set-env", name+"="+at(base, name))
			}
			return out
		},
	}, nil
}

// aiderSettings returns the address that aider would find in its files, and
// the other variables that it would find in a .env. Of the files those that
// are nearer to the working folder are stronger, and those that its command
// line names the strongest.
func (s *start) aiderSettings(config, file string) (address string, set map[string]string, err error) {
	const own, variable = "AIDER_OPENAI_API_BASE", "OPENAI_API_BASE"
	var configs, files []string
	for _, dir := range []string{s.home(), s.repository(), s.dir} {
		if dir != "" {
			configs, files = append(configs, filepath.Join(dir, ".aider.conf.yml")), append(files, filepath.Join(dir, ".env"))
		}
	}
	configs, files = s.and(configs, config), s.and(files, file)
	conf, env := "", map[string]string{}
	for _, path := range configs {
		text, _, err := s.read(path)
		if err != nil {
			return "", nil, err
		}
		conf = firstOf(plainYAML(string(text))["openai-api-base"], conf)
	}
	for _, path := range files {
		text, _, err := s.read(path)
		if err != nil {
			return "", nil, err
		}
		for name, value := range plainEnv(string(text)) {
			env[name] = firstOf(value, env[name])
		}
	}
	set = map[string]string{}
	for _, name := range aiderVars() {
		if env[name] != "" {
			set[name] = env[name]
		}
	}
	return firstOf(env[own], lookup(s.env, own), conf, env[variable]), set, nil
}

// and returns a list of files with one more, if it is named.
func (s *start) and(list []string, named string) []string {
	switch {
	case named == "":
		return list
	case filepath.IsAbs(named):
		return append(list, named)
	default:
		return append(list, filepath.Join(s.dir, named))
	}
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
