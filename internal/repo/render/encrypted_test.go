package render

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollout-ladder/ladder/internal/core/model"
)

// TestEncryptedManifests: a file of a folder that only its owner can read may hold
// objects, so that the folder is not called whole; the files beside it are read.
// Values that SOPS encrypted are readable enough to see that they are no object.
func TestEncryptedManifests(t *testing.T) {
	for name, tc := range map[string]struct{ text, tool string }{
		"git-crypt":     {"\x00GITCRYPT\x00\x01\x02\x03", "git-crypt"},
		"Ansible Vault": {"$ANSIBLE_VAULT;1.1;AES256\n6162\n", "Ansible Vault"},
		"age":           {"age-encryption.org/v1\n-> X25519 a\n", "age"},
		"age, armoured": {"-----BEGIN AGE ENCRYPTED FILE-----\nYQ==\n", "age"},
		"PGP":           {"-----BEGIN PGP MESSAGE-----\n\nYQ==\n", "PGP"},
		"SOPS, whole":   {`{"data": "ENC[AES256_GCM,data:a]", "sops": {"version": "3.9.0"}}`, "SOPS"},
		"SOPS, values":  {"password: ENC[AES256_GCM,data:a]\nsops: {version: 3.9.0}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{
				"a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
				"b.yaml": tc.text,
				"c.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}",
			} {
				if err := os.MkdirAll(filepath.Join(dir, "folder"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "folder", file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c := model.Component{Name: "c", Sources: []model.Source{{Kind: model.Manifests, Path: "folder"}}}
			r := New(dir, dir, Options{Offline: true, CacheDir: t.TempDir(), Partial: true})
			for range 2 { // and from the cache
				got := r.All(context.Background(), []model.Component{c}, nil)[0]
				var names, lacking []string
				for _, o := range got.Objects {
					names = append(names, o.GetName())
				}
				for _, l := range got.Lacking {
					if !l.Part || l.Position.File != "folder/b.yaml" || l.Position.Line != 1 || l.Source != "folder/b.yaml" {
						t.Errorf("lacking %+v", l)
					}
					lacking = append(lacking, l.Reason)
				}
				if diff := cmp.Diff([]string{"a", "c"}, names); diff != "" {
					t.Errorf("objects (-want +got):\n%s", diff)
				}
				switch {
				case tc.tool == "" && len(lacking) > 0:
					t.Errorf("lacking %q", lacking)
				case tc.tool != "" && (len(lacking) != 1 || !strings.Contains(lacking[0], "encrypted by "+tc.tool+";")):
					t.Errorf("lacking %q, want encrypted by %s", lacking, tc.tool)
				}
			}
			if _, err := New(dir, dir, Options{Offline: true, NoCache: true}).Component(context.Background(), c); (err != nil) != (tc.tool != "") {
				t.Errorf("where all is needed: %v", err)
			}
		})
	}
}
