package capture

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/kernel/fault"
)

// codexName is the upstream to which Codex goes.
const codexName = "codex"

// Where Codex goes if nothing says otherwise.
const (
	codexPublic = "https://api.openai.com/v1"
	codexLogin  = "https://chatgpt.com/backend-api/codex" // of an account of ChatGPT
)

// codex ignores OPENAI_BASE_URL. Its address is a setting, which an option of
// the command line may hold, so that option is put in front of the others;
// one of the user's own would win over it and is taken out.
func codex(s *start) (*redirect, error) {
	folder := lookup(s.env, "CODEX_HOME")
	if folder == "" {
		folder = s.home(".codex")
	}
	settings := map[string]string{}
	if folder != "" {
		text, _, err := s.read(filepath.Join(folder, "config.toml"))
		if err != nil {
			return nil, err
		}
		readTOML(string(text), settings)
	}
	args, options := takeOptions(s.args)
	profile := settings["profile"]
	for i, a := range args {
		if (a == "-p" || a == "--profile") && i+1 < len(args) {
			profile = args[i+1]
		}
		if v, ok := strings.CutPrefix(a, "--profile="); ok {
			profile = v
		}
	}
	if p := settings["profiles."+profile+".model_provider"]; p != "" {
		settings["model_provider"] = p
	}
	for _, o := range options {
		settings[o.name] = o.value
	}
	name, address := "openai_base_url", settings["openai_base_url"]
	if p := settings["model_provider"]; p != "" && p != "openai" {
		name = "model_providers." + p + ".base_url"
		if address = settings[name]; address == "" && s.flags[codexName] == nil {
			return nil, fault.New(ErrRedirect, "capture.Run", "the address of Codex's provider %q is not in its config.toml; name it with --upstream %s=URL", p, codexName)
		}
	} else if address == "" {
		address = codexPublic
		login, err := s.codexLogin(folder)
		if err != nil {
			return nil, err
		}
		if login {
			address = codexLogin
		}
	}
	u, err := s.upstreamOf(codexName, "openai", address)
	if err != nil {
		return nil, err
	}
	return &redirect{
		upstreams: []Upstream{u},
		args:      args,
		prefix: func(base func(string) string) []string {
			out := []string{"-c", name + "=" + strconv.Quote(base(codexName))}
			for _, o := range options {
				if o.name != name {
					out = append(out, "-c", o.name+"="+o.raw)
				}
			}
			return out
		},
	}, nil
}

// codexLogin reports whether Codex talks as an account of ChatGPT, which has
// another address than a key.
func (s *start) codexLogin(folder string) (bool, error) {
	if folder == "" || lookup(s.env, "CODEX_API_KEY") != "" {
		return false, nil
	}
	auth, err := s.readJSON(filepath.Join(folder, "auth.json"))
	if err != nil {
		return false, err
	}
	if mode := auth.Get("auth_mode").Str(); mode != "" {
		return mode == "chatgpt", nil
	}
	return auth.Get("OPENAI_API_KEY").Str() == "" && auth.Get("tokens").Get("access_token").Str() != "", nil
}

// option is one "-c name=value".
type option struct{ name, value, raw string }

// takeOptions takes out of a command line the settings that say where Codex
// goes. Behind "--" there are none.
func takeOptions(args []string) (rest []string, taken []option) {
	rest = []string{}
	for i := 0; i < len(args); i++ {
		a, setting, width := args[i], "", 1
		switch {
		case a == "--":
			return append(rest, args[i:]...), taken
		case (a == "-c" || a == "--config") && i+1 < len(args):
			setting, width = args[i+1], 2
		case strings.HasPrefix(a, "--config="):
			setting = strings.TrimPrefix(a, "--config=")
		case strings.HasPrefix(a, "-c") && strings.Contains(a, "="):
			setting = strings.TrimPrefix(strings.TrimPrefix(a, "-c"), "=")
		}
		name, raw, ok := strings.Cut(setting, "=")
		name = strings.TrimSpace(name)
		if ok && (name == "openai_base_url" || name == "model_provider" || strings.HasPrefix(name, "model_providers.") && strings.HasSuffix(name, ".base_url")) {
			taken = append(taken, option{name, unquoteTOML(raw), raw})
		} else {
			rest = append(rest, args[i:i+width]...)
		}
		i += width - 1
	}
	return rest, taken
}

// readTOML puts the strings of a TOML file into settings, by their dotted
// names. It reads what says where Codex goes, tables and plain strings, and
// passes over everything else.
func readTOML(text string, settings map[string]string) {
	table, fence := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if fence != "" { // within a string of several lines
			if strings.Contains(line, fence) {
				fence = ""
			}
			continue
		}
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, _, _ = strings.Cut(head, "]")
			table = dotted(head) + "."
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		for _, f := range []string{`"""`, "'''"} {
			if rest, ok := strings.CutPrefix(value, f); ok && !strings.Contains(rest, f) {
				fence = f
			}
		}
		if v := unquoteTOML(value); fence == "" && v != "" {
			settings[strings.TrimPrefix(table+dotted(name), ".")] = v
		}
		if inner, ok := strings.CutPrefix(value, "{"); ok { // name = { base_url = "…" }
			for pair := range strings.SplitSeq(strings.TrimSuffix(inner, "}"), ",") {
				if k, v, ok := strings.Cut(pair, "="); ok {
					settings[strings.TrimPrefix(table+dotted(name)+"."+dotted(k), ".")] = unquoteTOML(v)
				}
			}
		}
	}
}

// dotted returns a dotted key without blanks and quotation marks.
func dotted(key string) string {
	parts := strings.Split(strings.Trim(key, "[] \t"), ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}

// unquoteTOML returns the text of a string, or what stands there up to a
// comment: on a command line Codex takes the latter as a string too.
func unquoteTOML(s string) string {
	s = strings.TrimSpace(s)
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		end := strings.IndexByte(s[1:], s[0])
		if end < 0 {
			return ""
		}
		if s[0] == '"' {
			if u, err := strconv.Unquote(s[:end+2]); err == nil {
				return u
			}
		}
		return s[1 : end+1]
	}
	s, _, _ = strings.Cut(s, "#")
	return strings.TrimSpace(s)
}
