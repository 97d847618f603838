package capture

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// ErrRedirect means that an agent cannot be pointed at the recorder, because
// its configuration cannot be read. Correct the file, or name the upstream.
const ErrRedirect fault.Invalid = "capture.not_redirected"

// Means is how a program is told where its model is.
type Means string

// The means. Each program has the gentlest that it honours.
const (
	ByVariable Means = "variable" // of [Clients]
	ByArgument Means = "argument" // on its command line
	ByConfig   Means = "config"   // of this run alone; the user's own files are read and never written
)

// Program is an agent that people start by its name, and how it is pointed at
// the recorder.
type Program struct {
	Name    string // of its command
	Title   string
	Package string // of npm, by which runners such as npx call it; may be empty
	Means   Means
	How     string // in one line, for people
	Seen    string // the version in which this was seen to work; empty: it stands in its documents

	// Ask are the arguments that make it ask its model once without a terminal,
	// and AskEnv what it wants to see in its environment for that.
	Ask, AskEnv []string

	plan func(s *start) (*redirect, error) // nil: variables are enough
}

// Programs returns the agents that are known by name.
func Programs() []Program {
	const key = "reprise-doctor-no-key"
	return []Program{
		{
			Name: "claude", Title: "Claude Code", Package: "@anthropic-ai/claude-code", Means: ByVariable, Seen: "2.1.329",
			How: "ANTHROPIC_BASE_URL; --settings where the user's settings hold that variable, because they win over it",
			Ask: []string{"-p", "say hi"}, AskEnv: []string{"ANTHROPIC_API_KEY=" + key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
			plan: claudeCode,
		},
		{
			Name: "codex", Title: "Codex", Package: "@openai/codex", Means: ByArgument, Seen: "0.169.0",
			How: "-c openai_base_url=…, or that of the provider of its own in config.toml; with an API key and with a ChatGPT login",
			Ask: []string{"exec", "--skip-git-repo-check", "say hi"}, AskEnv: []string{"CODEX_API_KEY=" + key},
			plan: codex,
		},
		{
			Name: "gemini", Title: "Gemini CLI", Package: "@google/gemini-cli", Means: ByConfig, Seen: "0.61.0",
			How: "GOOGLE_GEMINI_BASE_URL, with system defaults of this run that choose the API key, because without them it asks for a login then; CODE_ASSIST_ENDPOINT for a Google login",
			Ask: []string{"-p", "say hi", "--skip-trust", "-m", "gemini-2.5-flash"}, AskEnv: []string{"GEMINI_API_KEY=" + key},
			plan: geminiCLI,
		},
		{
			Name: "opencode", Title: "opencode", Package: "opencode-ai", Means: ByConfig, Seen: "1.18.33",
			How: "OPENAI_BASE_URL and ANTHROPIC_BASE_URL; OPENCODE_CONFIG_CONTENT for other providers and for addresses of the user's own configuration",
			Ask: []string{"run", "say hi", "-m", "openai/gpt-5"}, AskEnv: []string{"OPENAI_API_KEY=" + key},
			plan: opencode,
		},
		{
			Name: "qwen", Title: "Qwen Code", Package: "@qwen-code/qwen-code", Means: ByVariable, Seen: "0.15.10",
			How: "OPENAI_BASE_URL",
			Ask: []string{"-p", "say hi", "--auth-type", "openai", "-m", "e2e-1"}, AskEnv: []string{"OPENAI_API_KEY=" + key},
		},
		{
			Name: "goose", Title: "goose", Package: "@aaif/goose-acp", Means: ByVariable, Seen: "1.52.0",
			How: "OPENAI_HOST, ANTHROPIC_HOST and GOOGLE_HOST, which win over its config.yaml; addresses that stand there are kept to",
			Ask: []string{"run", "--no-session", "-t", "say hi"}, AskEnv: []string{"GOOSE_PROVIDER=openai", "GOOSE_MODEL=gpt-5", "OPENAI_API_KEY=" + key, "GOOSE_DISABLE_KEYRING=1"},
			plan: goose,
		},
		{
			Name: "aider", Title: "aider", Means: ByVariable,
			How: "OPENAI_API_BASE and ANTHROPIC_API_BASE; --openai-api-base and --set-env where its own configuration or a .env holds an address, because that wins over them; record --proxy for other providers",
			Ask: []string{"--no-git", "--yes-always", "--no-check-update", "--no-analytics", "--model", "openai/gpt-4o", "--message", "say hi"}, AskEnv: []string{"OPENAI_API_KEY=" + key},
			plan: aider,
		},
	}
}

// runners start a program by the name of its package: the words in front of
// that name, options left out.
var runners = [][]string{{"npx"}, {"bunx"}, {"pnpx"}, {"npm", "exec"}, {"npm", "x"}, {"pnpm", "dlx"}, {"pnpm", "exec"}, {"yarn", "dlx"}, {"bun", "x"}}

// FindProgram returns the known program that a command line starts, and where
// its own arguments begin; nil if it starts none. What a shell or a script
// starts cannot be seen.
func FindProgram(command []string) (p *Program, at int) {
	if len(command) == 0 {
		return nil, 0
	}
	list := Programs()
	if i := slices.IndexFunc(list, func(p Program) bool { return p.Name == baseName(command[0]) }); i >= 0 {
		return &list[i], 1
	}
	for _, r := range runners {
		if len(command) <= len(r) || baseName(command[0]) != r[0] || !slices.Equal(command[1:len(r)], r[1:]) {
			continue
		}
		for at := len(r); at < len(command); at++ {
			word := command[at]
			if strings.HasPrefix(word, "-") {
				continue // of the runner
			}
			if i := slices.IndexFunc(list, func(p Program) bool { return p.Package != "" && p.Package == withoutVersion(word) }); i >= 0 {
				at++
				if at < len(command) && command[at] == "--" {
					at++
				}
				return &list[i], at
			}
			return nil, 0
		}
	}
	return nil, 0
}

// baseName returns the name of a command without its folder and ending.
func baseName(path string) string {
	name := filepath.Base(path)
	switch ext := filepath.Ext(name); strings.ToLower(ext) {
	case ".exe", ".cmd", ".js", ".mjs":
		return strings.TrimSuffix(name, ext)
	}
	return name
}

// withoutVersion returns the name of a package of npm.
func withoutVersion(name string) string {
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		return name[:i]
	}
	return name
}

// start is one start of a program, before anything listens.
type start struct {
	program *Program
	args    []string // its own
	env     []string
	dir     string
	flags   map[string]*url.URL // upstreams that the user named
}

// redirect is what must be done at one start beside the variables. Base gives
// the address, with its path, that stands for an upstream's.
type redirect struct {
	program   *Program
	upstreams []Upstream
	args      []string // what is left of the program's own; nil: all
	prefix    func(base func(upstream string) string) []string
	vars      func(base func(upstream string) string) ([]string, error)

	// fileVar names a file of this run that holds file.
	fileVar, file string
}

// planRedirect returns how the program of a command is redirected, and where
// its arguments begin; nil if variables are enough.
func (o *RunOptions) planRedirect() (r *redirect, at int, err error) {
	p, at := FindProgram(o.Command)
	if p == nil || p.plan == nil {
		return nil, 0, nil
	}
	flags, _, err := parseFlags(o.Upstreams)
	if err != nil {
		return nil, 0, err
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, 0, fault.Wrap(ErrRedirect, "capture.Run", err, "the working folder")
		}
	}
	r, err = p.plan(&start{program: p, args: o.Command[at:], env: o.Env, dir: dir, flags: flags})
	if r != nil {
		r.program = p
	}
	return r, at, err
}

// upstreamOf returns an upstream of a program: where a flag says, else where
// the program would go.
func (s *start) upstreamOf(name, provider, address string) (Upstream, error) {
	u := Upstream{Name: name, Provider: provider, URL: s.flags[name]}
	if u.URL == nil {
		u.URL = s.flags[provider]
	}
	if u.URL != nil {
		return u, nil
	}
	var err error
	if u.URL, err = parseUpstream(address); err != nil {
		return u, fault.New(ErrRedirect, "capture.Run", "%s is configured with an address that is not an http or https URL; name the upstream with --upstream %s=URL", s.program.Title, name)
	}
	return u, nil
}

// merge adds the upstreams of the redirect, in the place of those of the same
// names that flags made.
func (r *redirect) merge(ups []Upstream) []Upstream {
	for _, u := range r.upstreams {
		ups = slices.DeleteFunc(ups, func(o Upstream) bool { return o.Name == u.Name })
		ups = append(ups, u)
	}
	return ups
}

// apply returns the command line and the environment of the child. Addr are
// the addresses of the listeners.
func (r *redirect) apply(command []string, at int, environ []string, addr map[string]string) (argv, env []string, remove func(), err error) {
	base := func(name string) string {
		i := slices.IndexFunc(r.upstreams, func(u Upstream) bool { return u.Name == name })
		return "http://" + addr[name] + strings.TrimSuffix(r.upstreams[i].URL.EscapedPath(), "/")
	}
	argv, remove = slices.Clone(command[:at]), func() {}
	if r.prefix != nil {
		argv = append(argv, r.prefix(base)...)
	}
	own := r.args
	if own == nil {
		own = command[at:]
	}
	argv = append(argv, own...)
	var set []string
	if r.vars != nil {
		if set, err = r.vars(base); err != nil {
			return nil, nil, remove, err
		}
	}
	if r.fileVar != "" {
		dir, err := runFolder(environ)
		if err != nil {
			return nil, nil, remove, err
		}
		remove = func() { _ = os.RemoveAll(dir) }
		path := filepath.Join(dir, strings.ToLower(r.fileVar)+".json")
		if err := os.WriteFile(path, []byte(r.file), 0o600); err != nil {
			remove()
			return nil, nil, func() {}, fault.Wrap(ErrRedirect, "capture.Run", err, "a configuration of this run")
		}
		set = append(set, r.fileVar+"="+path)
	}
	for _, kv := range set {
		name, _, _ := strings.Cut(kv, "=")
		environ = slices.DeleteFunc(slices.Clone(environ), func(o string) bool { return strings.HasPrefix(o, name+"=") })
		environ = append(environ, kv)
	}
	return argv, environ, remove, nil
}

// runFolder makes a folder for the files of one run. It lies in the user's
// cache and not among what everybody may write, because programs refuse
// configuration from there.
func runFolder(environ []string) (string, error) {
	cache := lookup(environ, "XDG_CACHE_HOME")
	if home := lookup(environ, "HOME"); cache == "" && home != "" {
		if _, err := os.Stat(home); err == nil {
			cache = filepath.Join(home, ".cache")
		}
	}
	if cache == "" {
		cache = os.TempDir()
	}
	parent := filepath.Join(cache, "reprise")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return "", fault.Wrap(ErrRedirect, "capture.Run", err, "a folder for the configuration of this run")
	}
	dir, err := os.MkdirTemp(parent, "run-")
	if err != nil {
		return "", fault.Wrap(ErrRedirect, "capture.Run", err, "a folder for the configuration of this run")
	}
	return dir, nil
}

// home returns a path below the user's home, or nothing.
func (s *start) home(names ...string) string {
	h := lookup(s.env, "HOME")
	if h == "" {
		h = lookup(s.env, "USERPROFILE")
	}
	if h == "" {
		return ""
	}
	return filepath.Join(append([]string{h}, names...)...)
}

// maxConfig bounds a configuration file that is read.
const maxConfig = 4 << 20

// read returns a configuration file of the user; ok is false if it is not there.
func (s *start) read(path string) (text []byte, ok bool, err error) {
	if path == "" {
		return nil, false, nil
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil, false, nil //nolint:nilerr // what the program cannot read either
	}
	if info.Size() > maxConfig {
		return nil, false, fault.New(ErrRedirect, "capture.Run", "%s is longer than %d bytes", path, maxConfig)
	}
	text, err = os.ReadFile(path) //nolint:gosec // the path is the program's own
	if err != nil {
		return nil, false, fault.Wrap(ErrRedirect, "capture.Run", err, "the configuration of %s", s.program.Title)
	}
	return text, true, nil
}

// readJSON reads a configuration file in JSON, with comments if it has some;
// the zero value if it is not there.
func (s *start) readJSON(path string) (canon.Value, error) {
	text, ok, err := s.read(path)
	if !ok || err != nil {
		return canon.Value{}, err
	}
	return s.parseJSON(path, text)
}

func (s *start) parseJSON(what string, text []byte) (canon.Value, error) {
	text = withoutComments(text)
	if len(strings.TrimSpace(string(text))) == 0 {
		return canon.Value{}, nil
	}
	v, err := canon.Parse(text)
	if err != nil || v.Kind() != canon.KindObject {
		return canon.Value{}, fault.New(ErrRedirect, "capture.Run", "%s is no JSON object, so that it is not known where %s goes", what, s.program.Title)
	}
	return v, nil
}

// withoutComments returns JSON without comments and without commas before a
// closing bracket, as editors write configuration.
func withoutComments(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			from := i
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
			out = append(out, b[from:min(i+1, len(b))]...)
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '/':
			for i < len(b) && b[i] != '\n' {
				i++
			}
			out = append(out, '\n')
		case b[i] == '/' && i+1 < len(b) && b[i+1] == '*':
			end := strings.Index(string(b[i+2:]), "*/")
			if end < 0 {
				return out
			}
			i += end + 3
		case b[i] == '}' || b[i] == ']':
			at := len(out)
			for at > 0 && strings.IndexByte(" \t\r\n", out[at-1]) >= 0 {
				at--
			}
			if at > 0 && out[at-1] == ',' {
				out = append(out[:at-1], out[at:]...)
			}
			out = append(out, b[i])
		default:
			out = append(out, b[i])
		}
	}
	return out
}

// jsonText returns a value as JSON.
func jsonText(v canon.Value) (string, error) {
	b, err := canon.Encode(v, canon.Foreign)
	return string(b), err
}
