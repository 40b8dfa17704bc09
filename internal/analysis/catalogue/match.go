package catalogue

import (
	"regexp"
	"strings"
	"sync"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// rivals are addresses where many projects' charts are kept under names that
// other charts have too: a chart there is the one of an entry only if the entry
// names the address.
var rivals = []string{
	"charts.bitnami.com", "registry-1.docker.io/bitnamicharts", "docker.io/bitnamicharts", "registry-1.docker.io/bitnamichartssecure",
	"raw.githubusercontent.com/bitnami", "charts.helm.sh", "kubernetes-charts.storage.googleapis.com", "k8s-at-home.com",
	"charts.truecharts.org", "tccr.io", "oci.trueforge.org", "bjw-s.github.io", "bjw-s-labs.github.io", "ghcr.io/bjw-s",
	"charts.gabe565.com", "charts.rancher.io", "charts.ot-container-kit.github.io", "charts.kubesphere.io", "marketplace.azurecr.io",
}

// hardened is where Docker publishes the charts of other projects, with hardened images, under
// their names and "-chart". Source: Docker Hardened Images, "Helm charts".
const hardened = "dhi.io"

// address is the address of a repository in the form that is compared: without
// scheme, credentials, "www." and the slash at its end; host in small letters.
func address(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "://"); i >= 0 {
		text = text[i+3:]
	} else if rest, ok := strings.CutPrefix(text, "git@"); ok {
		text = strings.Replace(rest, ":", "/", 1)
	}
	host, path, _ := strings.Cut(text, "/")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	host = strings.TrimPrefix(strings.ToLower(host), "www.")
	return strings.Trim(host+"/"+path, "/")
}

// question is what a source asks for.
type question struct {
	chart string
	// repository is an address; empty for a folder of the repository itself.
	repository string
	// addresses are those of manifests, without the revision.
	addresses []string
}

// ask reads a source. Git sources and remote references of kustomizations are
// asked for as manifests.
func ask(src model.Source) question {
	q := question{chart: src.Name, repository: address(src.RepoURL)}
	if src.Kind == model.Git || src.Kind == model.Plugin || src.Kind == model.Kustomize || src.Kind == model.Manifests {
		q.chart = ""
		q.addresses = []string{manifestAddress(src.RepoURL, src.Name)}
		return q
	}
	if q.chart == "" { // an OCI reference that holds the name
		q.chart = q.repository[strings.LastIndexByte(q.repository, '/')+1:]
	}
	if i := strings.LastIndexByte(q.chart, '/'); i >= 0 { // folders of a registry belong to its address
		q.repository, q.chart = address(q.repository+"/"+q.chart[:i]), q.chart[i+1:]
	}
	if q.repository == hardened || strings.HasPrefix(q.repository, hardened+"/") {
		q.chart = strings.TrimSuffix(q.chart, "-chart")
	}
	return q
}

// manifestAddress is the form in which an entry names manifests:
// "github.com/owner/name/path" of a Git folder, whatever its revision, and the
// address of a file as it is.
func manifestAddress(repository, folder string) string {
	text, _, _ := strings.Cut(repository, "?")
	base := strings.Replace(address(text), ".git//", "/", 1)
	base = strings.TrimSuffix(strings.Replace(base, "//", "/", 1), ".git")
	if folder = strings.Trim(folder, "/"); folder != "" && folder != "." {
		base += "/" + folder
	}
	return base
}

// matches reports whether an entry is about what is asked for. sole says that no
// other entry has its name.
func (e *Entry) matches(q question, sole bool) bool {
	for _, a := range q.addresses {
		for _, pattern := range e.Manifests {
			if glob(pattern).MatchString(a) {
				return true
			}
		}
	}
	if q.chart == "" || q.chart != e.Chart || len(e.Repositories) == 0 {
		return false
	}
	for _, r := range e.Repositories {
		have := address(r)
		for _, base := range []string{have, strings.TrimSuffix(have, "/"+e.Chart)} {
			if q.repository == base || q.repository == base+"/"+e.Chart {
				return true
			}
		}
	}
	return sole && !e.Common && !isRival(q.repository)
}

func isRival(repository string) bool {
	for _, r := range rivals {
		if repository == r || strings.HasPrefix(repository, r+"/") {
			return true
		}
	}
	return false
}

// maxPattern bounds the patterns of addresses, in bytes. The library takes no patterns
// without end, and much memory for long ones.
const maxPattern = 1 << 10

// globs are the patterns that were compiled: each is asked for by every component whose
// source has an address.
var globs sync.Map // of *regexp.Regexp by pattern

func glob(pattern string) *regexp.Regexp {
	if known, ok := globs.Load(pattern); ok {
		return known.(*regexp.Regexp)
	}
	compiled := compileGlob(pattern)
	globs.Store(pattern, compiled)
	return compiled
}

func compileGlob(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("(?i)^")
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case pattern[i] == '*':
			b.WriteString("[^/]*")
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	b.WriteString("$")
	return regexp.MustCompile(b.String())
}
