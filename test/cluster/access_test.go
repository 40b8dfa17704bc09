package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// documented is a Role or ClusterRole of docs/security.md; their fields are the same.
func documented(t *testing.T, name string) *rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	must(t, err)
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(block)))
		for {
			document, err := documents.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			must(t, err)
			role := &rbacv1.ClusterRole{}
			must(t, yaml.UnmarshalStrict(document, role))
			if role.Name == name {
				return role
			}
		}
	}
	t.Fatalf("docs/security.md has no role %s", name)
	return nil
}

// as makes a kubeconfig of a ServiceAccount that has these roles and nothing
// else.
func (s *site) as(account string, roles ...*rbacv1.ClusterRole) string {
	s.t.Helper()
	ctx := s.t.Context()
	subject := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: "default"}}
	_, err := s.core.ServiceAccounts("default").Create(ctx, subject, metav1.CreateOptions{})
	must(s.t, err)
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Name: account, Namespace: "default"}}
	for _, role := range roles {
		meta := metav1.ObjectMeta{Name: account + "-" + role.Name, Namespace: role.Namespace}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: meta.Name}
		if role.Kind == "Role" {
			_, err := s.roles.Roles(role.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
			must(s.t, err)
			_, err = s.roles.RoleBindings(role.Namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
			must(s.t, err)
			continue
		}
		_, err := s.roles.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
		must(s.t, err)
		_, err = s.roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}, metav1.CreateOptions{})
		must(s.t, err)
	}
	token, err := s.core.ServiceAccounts("default").CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(s.t, err)
	config, err := clientcmd.LoadFromFile(s.plane.Kubeconfig)
	must(s.t, err)
	config.AuthInfos = map[string]*api.AuthInfo{account: {Token: token.Status.Token}}
	for _, c := range config.Contexts {
		c.AuthInfo = account
	}
	file := filepath.Join(s.t.TempDir(), account)
	must(s.t, clientcmd.WriteToFile(*config, file))
	return file
}

// The access that the documentation says is enough for a rollout, for what the
// repository lacks afterwards to go, for steering it, and for its orphans.
func TestDocumentedAccess(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	s := newSite(t, 2)
	_, err := s.core.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ladder-system"}}, metav1.CreateOptions{})
	must(t, err)
	state, native := documented(t, "ladder-state"), documented(t, "ladder-rollout-native")
	platform := documented(t, "ladder-platform-example")
	s.access = s.as("rollout", state, native, platform)
	if r := s.ladder(s.rollout()...); r.code != 0 {
		t.Fatalf("rollout: exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	if r := s.ladder(s.rollout()...); r.code != 0 {
		t.Errorf("rollout again: exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	must(t, os.RemoveAll(filepath.Join(s.repo, "environments", "dev", "components", name(2))))
	if r := s.ladder(s.rollout()...); r.code != 0 {
		t.Errorf("rollout of less: exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	s.untouched(name(2))

	s.access = s.as("status", documented(t, "ladder-status"))
	if r := s.ladder("status"); r.code != 0 {
		t.Errorf("status: exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}
	s.access = s.as("orphans", documented(t, "ladder-orphans"))
	if r := s.ladder("orphans", s.repo, "--format", "json"); r.code != 0 || !strings.Contains(r.stdout, `"complete": true`) {
		t.Errorf("orphans: exit code %d\n%s\n%s", r.code, r.stdout, r.stderr)
	}

	// Without one of the rules of the state there is no rollout.
	for i, rule := range state.Rules {
		less := state.DeepCopy()
		less.Rules = append(less.Rules[:i:i], less.Rules[i+1:]...)
		s.access = s.as(fmt.Sprintf("less%d", i), less, native, platform)
		if r := s.ladder(s.rollout("--timeout", "30s")...); r.code == 0 || !strings.Contains(r.stdout+r.stderr, "forbidden") {
			t.Errorf("without %v: exit code %d\n%s", rule, r.code, r.stderr)
		}
	}
}
