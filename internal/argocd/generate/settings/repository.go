package settings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/rollout-ladder/ladder/internal/core/finding"
)

// Repository is a repository that Argo CD needs to read.
type Repository struct {
	// URL may hold credentials, which are left out.
	URL string
	// Helm is set for a repository of charts; OCI where it is a registry.
	Helm, OCI bool
	// Prefix makes the Secret one of credentials for every repository whose address
	// starts with URL.
	Prefix bool
}

// Repositories writes templates of the Secrets by which Argo CD knows its
// repositories, without any secret: what must be filled in is in comments. The
// file is to be copied, filled in and kept out of Git, not to be applied by the
// Application that applies the other settings: that would take out what was
// filled in. Source: Argo CD operator manual, "Repositories".
func Repositories(namespace string, all []Repository) []byte {
	all = slices.Clone(all)
	for i := range all {
		all[i].URL = finding.WithoutCredentials(all[i].URL)
	}
	slices.SortFunc(all, func(a, b Repository) int { return strings.Compare(a.URL, b.URL) })
	var out bytes.Buffer
	out.WriteString("# Templates: fill in the lines marked <...> in a copy outside of Git and apply that.\n" +
		"# A repository that everybody may read needs none.\n")
	for i, r := range slices.Compact(all) {
		if i > 0 {
			out.WriteString("---\n")
		}
		r.write(&out, namespace)
	}
	return out.Bytes()
}

func (r Repository) write(out *bytes.Buffer, namespace string) {
	kind, secretType := "git", "repository"
	if r.Helm {
		kind = "helm"
	}
	if r.Prefix {
		secretType = "repo-creds"
	}
	fmt.Fprintf(out, "apiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: %s\n  labels:\n    argocd.argoproj.io/secret-type: %s\nstringData:\n  type: %s\n  url: %s\n",
		r.name(), namespace, secretType, kind, yamlText(r.URL))
	if r.OCI {
		out.WriteString("  enableOCI: \"true\"\n")
	}
	switch {
	case !r.Helm && isSSH(r.URL):
		out.WriteString("  # sshPrivateKey: <private key of a deploy key that may read>\n")
	default:
		out.WriteString("  # username: <user, or anything where the password is a token>\n  # password: <password or token that may read>\n")
	}
}

// name is short, unique to the address, and holds nothing of its secrets.
func (r Repository) name() string {
	sum := sha256.Sum256([]byte(r.URL))
	prefix := "repo-"
	if r.Prefix {
		prefix = "creds-"
	}
	last := r.URL[strings.LastIndexAny(strings.TrimRight(r.URL, "/"), "/:@")+1:]
	var name strings.Builder
	for _, c := range strings.ToLower(strings.TrimSuffix(strings.TrimRight(last, "/"), ".git")) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' && name.Len() > 0 {
			name.WriteRune(c)
		}
	}
	if name.Len() > 0 {
		prefix += strings.TrimRight(name.String()[:min(name.Len(), 40)], "-") + "-"
	}
	return prefix + hex.EncodeToString(sum[:4])
}

func isSSH(address string) bool {
	if strings.HasPrefix(address, "ssh://") {
		return true
	}
	user, rest, ok := strings.Cut(address, "@")
	return ok && !strings.Contains(user, "/") && strings.Contains(rest, ":") && !strings.Contains(address, "://")
}

// yamlText quotes a text where plain YAML would read something else.
func yamlText(s string) string {
	if s == "" || strings.ContainsAny(s, " #'\"{}[],&*!|>%@`\\\n\t") {
		return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "\n", " ") + "'"
	}
	return s
}
