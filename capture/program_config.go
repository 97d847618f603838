package capture

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/kernel/canon"
	"github.com/reprise-dev/reprise/kernel/fault"
)

// claudeName is the upstream of Claude Code where its settings name one.
const claudeName = "claude"

// claudeCode honours ANTHROPIC_BASE_URL, but variables in the user's settings
// win over the environment, and only --settings wins over these.
func claudeCode(s *start) (*redirect, error) {
	folder := lookup(s.env, "CLAUDE_CONFIG_DIR")
	if folder == "" {
		folder = s.home(".claude")
	}
	address := ""
	given, rest, err := s.claudeSettings()
	if err != nil {
		return nil, err
	}
	var files []string // from the weakest to the strongest
	if folder != "" {
		files = append(files, filepath.Join(folder, "settings.json"))
	}
	files = append(files, filepath.Join(s.dir, ".claude", "settings.json"), filepath.Join(s.dir, ".claude", "settings.local.json"))
	const variable = "ANTHROPIC_BASE_URL"
	for _, f := range files {
		v, err := s.readJSON(f)
		if err != nil {
			return nil, err
		}
		if a := v.Get("env").Get(variable).Str(); a != "" {
			address = a
		}
	}
	if a := given.Get("env").Get(variable).Str(); a != "" {
		address = a
	}
	if address == "" && s.flags[claudeName] == nil {
		return nil, nil
	}
	u, err := s.upstreamOf(claudeName, "anthropic", address)
	if err != nil {
		return nil, err
	}
	if given.IsZero() {
		given = canon.Object()
	}
	env := given.Get("env")
	if env.IsZero() {
		env = canon.Object()
	}
	return &redirect{
		upstreams: []Upstream{u},
		args:      rest,
		prefix: func(base func(string) string) []string {
			text, err := jsonText(given.With("env", env.With(variable, canon.String(base(claudeName)))))
			if err != nil {
				return nil
			}
			return []string{"--settings", text}
		},
	}, nil
}

// claudeSettings takes the value of --settings out of a command line: JSON, or
// a file that holds it.
func (s *start) claudeSettings() (v canon.Value, rest []string, err error) {
	rest = []string{}
	for i := 0; i < len(s.args); i++ {
		value, ok := strings.CutPrefix(s.args[i], "--settings=")
		switch {
		case s.args[i] == "--":
			return v, append(rest, s.args[i:]...), nil
		case s.args[i] == "--settings" && i+1 < len(s.args):
			i++
			value = s.args[i]
		case !ok:
			rest = append(rest, s.args[i])
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			v, err = s.parseJSON("--settings", []byte(value))
		} else {
			if !filepath.IsAbs(value) {
				value = filepath.Join(s.dir, value)
			}
			v, err = s.readJSON(value)
		}
		if err != nil {
			return v, nil, err
		}
	}
	return v, rest, nil
}

// The upstream of Gemini CLI with a Google login.
const (
	codeAssistName = "gemini-code-assist"
	codeAssistVar  = "CODE_ASSIST_ENDPOINT"
	codeAssist     = "https://cloudcode-pa.googleapis.com"
)

// geminiCLI honours GOOGLE_GEMINI_BASE_URL, but takes it for a gateway and
// then refuses to start, unless its settings choose the API key. Defaults are
// the weakest settings: a choice of the user's own wins over them.
func geminiCLI(s *start) (*redirect, error) {
	address := lookup(s.env, codeAssistVar)
	if address == "" {
		address = codeAssist
	}
	u, err := s.upstreamOf(codeAssistName, "", address)
	if err != nil {
		return nil, err
	}
	r := &redirect{
		upstreams: []Upstream{u},
		vars: func(base func(string) string) ([]string, error) {
			return []string{codeAssistVar + "=" + base(codeAssistName)}, nil
		},
	}
	if lookup(s.env, "GOOGLE_GENAI_USE_GCA") == "true" || lookup(s.env, "GOOGLE_GENAI_USE_VERTEXAI") == "true" || lookup(s.env, "GEMINI_API_KEY") == "" {
		return r, nil
	}
	const variable = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
	path := lookup(s.env, variable)
	if path == "" {
		path = "/etc/gemini-cli/system-defaults.json"
		switch runtime.GOOS {
		case "darwin":
			path = "/Library/Application Support/GeminiCli/system-defaults.json"
		case "windows":
			path = `C:\ProgramData\gemini-cli\system-defaults.json`
		}
	}
	v, err := s.readJSON(path)
	if err != nil {
		return nil, err
	}
	if v.IsZero() {
		v = canon.Object()
	}
	steps := []string{"security", "auth", "selectedType"}
	if got := v.Get("security").Get("auth").Get("selectedType").Str(); got != "" {
		return r, nil // the machine's own choice
	}
	r.fileVar = variable
	r.file, err = jsonText(setAt(v, steps, canon.String("gemini-api-key")))
	return r, err
}

// setAt returns v with a value at the end of steps through objects.
func setAt(v canon.Value, steps []string, to canon.Value) canon.Value {
	if len(steps) == 0 {
		return to
	}
	if v.Kind() != canon.KindObject {
		v = canon.Object()
	}
	return v.With(steps[0], setAt(v.Get(steps[0]), steps[1:], to))
}

// opencodeName begins the names of upstreams of opencode; the provider's
// follows.
const opencodeName = "opencode-"

// opencodeProvider is a provider that opencode knows by itself and that no
// variable redirects.
type opencodeProvider struct {
	id, provider, address string
	keys                  []string
}

// opencodeProviders are redirected only where there is a key for them: one
// that stands in the configuration counts as wanted, so that opencode would
// choose its model without having a key.
var opencodeProviders = []opencodeProvider{
	{"google", "gemini", "https://generativelanguage.googleapis.com/v1beta", []string{"GOOGLE_GENERATIVE_AI_API_KEY"}},
	{"openrouter", "openrouter", "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}},
	{"mistral", "mistral", "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}},
	{"groq", "groq", "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}},
	{"deepseek", "deepseek", "https://api.deepseek.com", []string{"DEEPSEEK_API_KEY"}},
}

// opencode merges OPENCODE_CONFIG_CONTENT over all its files. Into it go the
// addresses of the providers that no variable redirects, or whose address the
// user's own configuration holds.
func opencode(s *start) (*redirect, error) {
	const variable = "OPENCODE_CONFIG_CONTENT"
	content := canon.Object()
	if text := lookup(s.env, variable); text != "" {
		var err error
		if content, err = s.parseJSON(variable, []byte(text)); err != nil {
			return nil, err
		}
	}
	addresses, order := map[string]string{}, []string{}
	add := func(id, address string) {
		if addresses[id] == "" {
			order = append(order, id)
		}
		addresses[id] = address
	}
	auth, err := s.readJSON(s.xdg("XDG_DATA_HOME", ".local/share", "opencode", "auth.json"))
	if err != nil {
		return nil, err
	}
	for _, p := range opencodeProviders {
		if !auth.Get(p.id).IsZero() || slices.ContainsFunc(p.keys, func(k string) bool { return lookup(s.env, k) != "" }) {
			add(p.id, p.address)
		}
	}
	var configs []canon.Value
	for _, f := range s.opencodeFiles() {
		v, err := s.readJSON(f)
		if err != nil {
			return nil, err
		}
		configs = append(configs, v)
	}
	for _, v := range append(configs, content) {
		for _, m := range v.Get("provider").Members() {
			if a := m.Value.Get("options").Get("baseURL").Str(); a != "" {
				a, err := s.placeholders(a)
				if err != nil {
					return nil, err
				}
				add(m.Name, a)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.flags)) {
		if id, ok := strings.CutPrefix(name, opencodeName); ok && addresses[id] == "" {
			add(id, s.flags[name].String())
		}
	}
	if len(order) == 0 {
		return nil, nil
	}
	r := &redirect{}
	names := map[string]string{}
	for _, id := range order {
		provider := id
		if i := slices.IndexFunc(opencodeProviders, func(p opencodeProvider) bool { return p.id == id }); i >= 0 {
			provider = opencodeProviders[i].provider
		}
		names[id] = opencodeName + strings.ToLower(strings.ReplaceAll(variableSafe(id), "_", "-"))
		u, err := s.upstreamOf(names[id], provider, addresses[id])
		if err != nil {
			return nil, err
		}
		r.upstreams = append(r.upstreams, u)
	}
	r.vars = func(base func(string) string) ([]string, error) {
		v := content
		for _, id := range order {
			v = setAt(v, []string{"provider", id, "options", "baseURL"}, canon.String(base(names[id])))
		}
		text, err := jsonText(v)
		return []string{variable + "=" + text}, err
	}
	return r, nil
}

// placeholders fills in the variables that opencode puts into its
// configuration.
func (s *start) placeholders(a string) (string, error) {
	for {
		before, rest, ok := strings.Cut(a, "{env:")
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			break
		}
		a = before + lookup(s.env, name) + after
	}
	if strings.Contains(a, "{") {
		return "", fault.New(ErrRedirect, "capture.Run", "the address %q in the configuration of %s is not plain; name the upstream with --upstream", a, s.program.Title)
	}
	return a, nil
}

// xdg returns a path below one of the folders of the XDG convention.
func (s *start) xdg(variable, below string, names ...string) string {
	dir := lookup(s.env, variable)
	if dir == "" {
		if dir = s.home(filepath.FromSlash(below)); dir == "" {
			return ""
		}
	}
	return filepath.Join(append([]string{dir}, names...)...)
}

// opencodeFiles returns where opencode looks for its configuration, from the
// weakest to the strongest.
func (s *start) opencodeFiles() []string {
	var out []string
	for _, name := range []string{"config.json", "opencode.json", "opencode.jsonc"} {
		out = append(out, s.xdg("XDG_CONFIG_HOME", ".config", "opencode", name))
	}
	out = append(out, lookup(s.env, "OPENCODE_CONFIG"))
	var up []string
	for dir := s.dir; ; dir = filepath.Dir(dir) {
		up = append([]string{
			filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"),
			filepath.Join(dir, ".opencode", "opencode.json"), filepath.Join(dir, ".opencode", "opencode.jsonc"),
		}, up...)
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	out = append(out, up...)
	if dir := lookup(s.env, "OPENCODE_CONFIG_DIR"); dir != "" {
		out = append(out, filepath.Join(dir, "opencode.json"), filepath.Join(dir, "opencode.jsonc"))
	}
	return out
}
