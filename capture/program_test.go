package capture_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/capture"
	"github.com/reprise-dev/reprise/kernel/fault"
)

func TestProgramsAreFoundByNameAndThroughRunners(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"codex exec hi":                      "codex 1",
		"/opt/x/codex.exe exec hi":           "codex 1",
		"npx @openai/codex exec hi":          "codex 2",
		"npx -y @openai/codex@0.169.0 -- hi": "codex 4",
		"npm exec opencode-ai run hi":        "opencode 3",
		"pnpm dlx @google/gemini-cli -p hi":  "gemini 3",
		"npx cowsay codex":                   " 0",
		"sh -c codex":                        " 0",
		"node agent.mjs":                     " 0",
		"npx":                                " 0",
	} {
		p, at := capture.FindProgram(strings.Fields(command))
		name := ""
		if p != nil {
			name = p.Name
		}
		if got := fmt.Sprint(name, " ", at); got != want {
			t.Errorf("FindProgram(%q) = %q, want %q", command, got, want)
		}
	}
}

// home writes files below a new folder and returns it.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestProgramsAreRedirected starts no program: it looks at how one would be
// started with its listeners at :1, :2, ….
func TestProgramsAreRedirected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, command string
		files         map[string]string
		env, flags    []string
		upstreams     string // name=address
		start         string // command line and what is set
	}{
		{
			name: "Codex with a key", command: "codex exec hi",
			upstreams: "codex=https://api.openai.com/v1", start: `codex -c openai_base_url="http://:1/v1" exec hi`,
		},
		{
			name: "Codex ignores the variable, and so does its upstream", command: "codex exec hi", env: []string{"OPENAI_BASE_URL=http://elsewhere/v1"},
			upstreams: "codex=https://api.openai.com/v1", start: `codex -c openai_base_url="http://:1/v1" exec hi`,
		},
		{
			name: "Codex with a login of ChatGPT", command: "codex exec hi",
			files:     map[string]string{".codex/auth.json": `{"auth_mode":"chatgpt","tokens":{"access_token":"x"}}`},
			upstreams: "codex=https://chatgpt.com/backend-api/codex", start: `codex -c openai_base_url="http://:1/backend-api/codex" exec hi`,
		},
		{
			name: "Codex with an address in its configuration", command: "codex exec hi",
			files:     map[string]string{".codex/config.toml": "# openai_base_url = \"http://no\"\nopenai_base_url = 'http://gw/x' # mine\n[other]\nopenai_base_url = \"http://no\"\n"},
			upstreams: "codex=http://gw/x", start: `codex -c openai_base_url="http://:1/x" exec hi`,
		},
		{
			name: "Codex with an address on its command line, which would win", command: "codex exec -c openai_base_url=\"http://gw/y\" -c model=\"m\" hi",
			upstreams: "codex=http://gw/y", start: `codex -c openai_base_url="http://:1/y" exec -c model="m" hi`,
		},
		{
			name: "Codex with a provider of its own", command: "codex exec hi",
			files:     map[string]string{".codex/config.toml": "model_provider = \"mine\"\ninstructions = \"\"\"\nmodel_provider = \"no\"\n\"\"\"\n[model_providers.mine]\nbase_url = \"http://gw/z/\"\n"},
			upstreams: "codex=http://gw/z/", start: `codex -c model_providers.mine.base_url="http://:1/z" exec hi`,
		},
		{
			name: "Codex with a profile", command: "codex -p work exec hi",
			files:     map[string]string{".codex/config.toml": "[profiles.work]\nmodel_provider = \"mine\"\n[model_providers]\nmine = { name = \"Mine\", base_url = \"http://gw/p\" }\n"},
			upstreams: "codex=http://gw/p", start: `codex -c model_providers.mine.base_url="http://:1/p" -p work exec hi`,
		},
		{
			name: "a flag says where Codex's upstream is", command: "npx @openai/codex exec hi", flags: []string{"codex=http://here/v1"},
			upstreams: "codex=http://here/v1", start: `npx @openai/codex -c openai_base_url="http://:1/v1" exec hi`,
		},
		{name: "Claude Code honours its variable", command: "claude -p hi", start: "claude -p hi"},
		{
			name: "Claude Code with settings that win over the variable", command: "claude -p hi",
			files:     map[string]string{".claude/settings.json": `{"env":{"ANTHROPIC_BASE_URL":"https://gw/a"}}`},
			upstreams: "claude=https://gw/a", start: `claude --settings {"env":{"ANTHROPIC_BASE_URL":"http://:1/a"}} -p hi`,
		},
		{
			name: "Claude Code with settings on its command line", command: `claude --settings {"env":{"ANTHROPIC_BASE_URL":"https://gw/b","A":"1"},"model":"m"} -p hi`,
			upstreams: "claude=https://gw/b", start: `claude --settings {"env":{"A":"1","ANTHROPIC_BASE_URL":"http://:1/b"},"model":"m"} -p hi`,
		},
		{
			name: "Gemini CLI with a key", command: "gemini -p hi", env: []string{"GEMINI_API_KEY=k"},
			upstreams: "gemini-code-assist=https://cloudcode-pa.googleapis.com",
			start:     `gemini -p hi CODE_ASSIST_ENDPOINT=http://:1 GEMINI_CLI_SYSTEM_DEFAULTS_PATH:{"security":{"auth":{"selectedType":"gemini-api-key"}}}`,
		},
		{
			name: "Gemini CLI with defaults of the machine", command: "gemini -p hi", env: []string{"GEMINI_API_KEY=k", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH=HOME/d.json"},
			files:     map[string]string{"d.json": "{\n // ours\n \"ui\": {\"theme\": \"//x\",},\n}"},
			upstreams: "gemini-code-assist=https://cloudcode-pa.googleapis.com",
			start:     `gemini -p hi CODE_ASSIST_ENDPOINT=http://:1 GEMINI_CLI_SYSTEM_DEFAULTS_PATH:{"security":{"auth":{"selectedType":"gemini-api-key"}},"ui":{"theme":"//x"}}`,
		},
		{
			name: "Gemini CLI with a login", command: "gemini -p hi",
			upstreams: "gemini-code-assist=https://cloudcode-pa.googleapis.com", start: "gemini -p hi CODE_ASSIST_ENDPOINT=http://:1",
		},
		{name: "opencode honours its variables", command: "opencode run hi", env: []string{"OPENAI_API_KEY=k"}, start: "opencode run hi"},
		{
			name: "opencode with a provider that has no variable", command: "opencode run hi", env: []string{"GOOGLE_GENERATIVE_AI_API_KEY=k"},
			upstreams: "opencode-google=https://generativelanguage.googleapis.com/v1beta",
			start:     `opencode run hi OPENCODE_CONFIG_CONTENT={"provider":{"google":{"options":{"baseURL":"http://:1/v1beta"}}}}`,
		},
		{
			name: "opencode with addresses in its configuration", command: "opencode run hi",
			env:       []string{"GW=http://gw", `OPENCODE_CONFIG_CONTENT={"model":"m"}`},
			files:     map[string]string{".config/opencode/opencode.jsonc": `{"provider": {"openai": {"options": {"baseURL": "{env:GW}/v1"}}}, /* more */ }`},
			upstreams: "opencode-openai=http://gw/v1",
			start:     `opencode run hi OPENCODE_CONFIG_CONTENT={"model":"m","provider":{"openai":{"options":{"baseURL":"http://:1/v1"}}}}`,
		},
		{name: "goose honours its variables", command: "goose run -t hi", start: "goose run -t hi"},
		{
			name: "goose with an address in its configuration", command: "goose run -t hi",
			files:     map[string]string{".config/goose/config.yaml": "extensions:\n  x:\n    OPENAI_HOST: http://no\nOPENAI_HOST: \"https://gw/o\" # ours\nOPENAI_BASE_PATH: v3/chat/completions\nANTHROPIC_HOST: https://gw/a/\n"},
			upstreams: "openai=https://gw/o/v1 anthropic=https://gw/a gemini=https://generativelanguage.googleapis.com", start: "goose run -t hi",
		},
		{
			name: "goose with a variable that wins over its configuration", command: "goose run -t hi", env: []string{"OPENAI_HOST=http://mine"},
			files:     map[string]string{".config/goose/config.yaml": "OPENAI_HOST: https://gw\nOPENAI_BASE_URL: https://gw/v1\n"},
			upstreams: "openai=http://mine/v1 anthropic=https://api.anthropic.com gemini=https://generativelanguage.googleapis.com", start: "goose run -t hi",
		},
		{
			name: "goose and a flag that says where its provider is", command: "goose run -t hi", flags: []string{"openai=http://here/v1"},
			files:     map[string]string{".config/goose/config.yaml": "OPENAI_HOST: https://gw\n"},
			upstreams: "openai=http://here/v1 anthropic=https://api.anthropic.com gemini=https://generativelanguage.googleapis.com", start: "goose run -t hi",
		},
		{
			name: "goose with a base in its environment, which wins over the host of its configuration", command: "goose run -t hi", env: []string{"OPENAI_BASE_URL=http://mine/v1"},
			files:     map[string]string{".config/goose/config.yaml": "OPENAI_HOST: https://gw\nOPENAI_BASE_URL: https://gw/v1\nGOOGLE_HOST: https://gw/g\n"},
			upstreams: "openai=http://mine/v1 anthropic=https://api.anthropic.com gemini=https://gw/g", start: "goose run -t hi",
		},
		{
			name: "goose with a base in its configuration", command: "goose run -t hi",
			files:     map[string]string{".config/goose/config.yaml": "OPENAI_HOST: https://no\nOPENAI_BASE_URL: https://gw/v1\n"},
			upstreams: "openai=https://gw/v1 anthropic=https://api.anthropic.com gemini=https://generativelanguage.googleapis.com", start: "goose run -t hi",
		},
		{name: "aider honours its variables", command: "aider --message hi", start: "aider --message hi"},
		{
			name: "aider with an address in its configuration", command: "aider --message hi",
			files:     map[string]string{".aider.conf.yml": "openai-api-base: http://home/v1\n", "work/.aider.conf.yml": "# mine\nmodel: m\nopenai-api-base: http://gw/v1\n"},
			upstreams: "openai=http://gw/v1", start: "aider --openai-api-base http://:1/v1 --message hi",
		},
		{
			name: "aider with an address on its command line", command: "aider --openai-api-base=http://gw/x --model m --openai-api-base http://gw/y --message hi",
			files:     map[string]string{"work/.aider.conf.yml": "openai-api-base: http://no/v1\n"},
			upstreams: "openai=http://gw/y", start: "aider --openai-api-base http://:1/y --model m --message hi",
		},
		{
			name: "aider with an address in a .env, which overrides variables", command: "aider --message hi",
			files:     map[string]string{"work/.env": "# keys\nexport OPENAI_API_BASE='http://gw/e'\n"},
			upstreams: "openai=http://gw/e", start: "aider --openai-api-base http://:1/e --message hi",
		},
		{
			name: "aider with other variables in a .env", command: "aider --message hi", env: []string{"OPENAI_BASE_URL=http://no/v1"},
			files:     map[string]string{"work/.env": "OPENAI_BASE_URL=http://gw/b\nANTHROPIC_API_BASE=http://gx/a\n", ".env": "OPENAI_BASE_URL=http://no/h\n"},
			upstreams: "openai=http://gw/b anthropic=http://gx/a", start: "aider --set-env ANTHROPIC_API_BASE=http://:2/a --set-env OPENAI_BASE_URL=http://:1/b --message hi",
		},
		{
			name: "aider with a .env that its command line names", command: "aider --env-file e --message hi",
			files:     map[string]string{"work/.env": "OPENAI_BASE_URL=http://no/b\n", "work/e": "OPENAI_BASE_URL=http://gw/b\n"},
			upstreams: "openai=http://gw/b", start: "aider --set-env OPENAI_BASE_URL=http://:1/b --env-file e --message hi",
		},
		{
			name: "aider with a configuration that its command line names", command: "aider --config c.yml --message hi", env: []string{"AIDER_OPENAI_API_BASE="},
			files:     map[string]string{"work/c.yml": "openai-api-base: http://gw/c\n"},
			upstreams: "openai=http://gw/c", start: "aider --openai-api-base http://:1/c --config c.yml --message hi",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := home(t, c.files)
			env := []string{"HOME=" + dir}
			for _, kv := range c.env {
				env = append(env, strings.ReplaceAll(kv, "HOME", dir))
			}
			ups, start, err := capture.Redirected(strings.Fields(c.command), env, c.flags, filepath.Join(dir, "work"))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(ups, " "); got != c.upstreams {
				t.Errorf("upstreams = %q, want %q", got, c.upstreams)
			}
			if got := strings.Join(start, " "); got != c.start {
				t.Errorf("start =\n%s, want\n%s", got, c.start)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".cache", "reprise", "*")); left != nil {
				t.Errorf("files of the run are left: %q", left)
			}
		})
	}
}

func TestConfigurationThatCannotBeReadIsNoGuess(t *testing.T) {
	t.Parallel()
	for command, files := range map[string]map[string]string{
		"codex exec":   {".codex/config.toml": "model_provider = \"bedrock\"\n"},
		"claude -p hi": {".claude/settings.json": `{"env":`},
		"opencode run": {".config/opencode/opencode.json": `{"provider":{"x":{"options":{"baseURL":"{file:~/url}"}}}}`},
		"opencode x":   {".config/opencode/opencode.json": `{"provider":{"x":{"options":{"baseURL":"ftp://x"}}}}`},
	} {
		dir := home(t, files)
		_, _, err := capture.Redirected(strings.Fields(command), []string{"HOME=" + dir}, nil, dir)
		if fault.CodeOf(err) != capture.ErrRedirect {
			t.Errorf("%s: error = %v, want %v", command, err, capture.ErrRedirect)
		}
	}
}
