//! What is built: a Go module of programs, in the version that its go.mod pins.

use std::fmt;
use std::path::PathBuf;

/// A program and the package it is built from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    /// The file.
    pub(super) name: &'static str,
    /// The Go package.
    pub(super) package: &'static str,
    /// Arguments with which it prints its version.
    pub(super) version: &'static [&'static str],
}

/// A module below `e2e/tools/`.
#[derive(Debug, Clone)]
pub(super) struct Module {
    /// The folder below `e2e/tools/`, and what people call it.
    pub(super) name: &'static str,
    /// The pinned version.
    pub(super) version: Version,
    /// The oldest version that will do when it is found somewhere.
    pub(super) oldest: Version,
    /// All its programs.
    pub(super) programs: &'static [Program],
    /// Build tags, which leave out what is not needed.
    pub(super) tags: &'static str,
    /// What the version is told to.
    stamp: Stamp,
}

/// How a program that was built from a module is told its version, without which it says v0.0.0, or half of it.
#[derive(Debug, Clone, Copy)]
enum Stamp {
    /// It knows.
    None,
    /// By a variable.
    Variable(&'static str),
    /// By the variables of these packages, as Kubernetes' programs are.
    Kubernetes(&'static [&'static str]),
}

const ETCD: [Program; 1] = [Program {
    name: "etcd",
    package: "go.etcd.io/etcd/server/v3",
    version: &["--version"],
}];

const KUBERNETES: [Program; 3] = [
    Program {
        name: "kube-apiserver",
        package: "k8s.io/kubernetes/cmd/kube-apiserver",
        version: &["--version"],
    },
    Program {
        name: "kube-controller-manager",
        package: "k8s.io/kubernetes/cmd/kube-controller-manager",
        version: &["--version"],
    },
    Program {
        name: "kubectl",
        package: "k8s.io/kubernetes/cmd/kubectl",
        version: &["version", "--client"],
    },
];

const HELM: [Program; 1] = [Program {
    name: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
    version: &["version", "--template", "{{.Version}}"],
}];

const PROMETHEUS: [Program; 1] = [Program {
    name: "promtool",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    version: &["--version"],
}];

impl Module {
    /// promtool. Its module has Prometheus' number without a major version: 0.313 is 3.13. All of the last years have what the alerts need.
    pub(super) fn prometheus() -> Self {
        Self {
            name: "prometheus",
            version: pinned(
                include_str!("../../tools/prometheus/go.mod"),
                "github.com/prometheus/prometheus",
            ),
            oldest: Version {
                major: 0,
                minor: 300,
                patch: 0,
            },
            programs: &PROMETHEUS,
            tags: "remove_all_sd",
            stamp: Stamp::Variable("github.com/prometheus/common/version.Version"),
        }
    }

    /// helm. What the chart says of failures, conflicts and waiting is what helm 4 does: a helm 3 is run where it is named alone.
    pub(super) fn helm() -> Self {
        Self {
            name: "helm",
            version: pinned(include_str!("../../tools/helm/go.mod"), "helm.sh/helm/v4"),
            oldest: Version {
                major: 4,
                minor: 0,
                patch: 0,
            },
            programs: &HELM,
            tags: "",
            stamp: Stamp::Variable("helm.sh/helm/v4/internal/version.version"),
        }
    }

    /// etcd.
    pub(super) fn etcd() -> Self {
        Self {
            name: "etcd",
            version: pinned(
                include_str!("../../tools/etcd/go.mod"),
                "go.etcd.io/etcd/server/v3",
            ),
            oldest: Version {
                major: 3,
                minor: 6,
                patch: 0,
            },
            programs: &ETCD,
            tags: "",
            stamp: Stamp::None,
        }
    }

    /// kube-apiserver, kube-controller-manager and kubectl. 1.34 is the first in which streaming lists can be relied on.
    pub(super) fn kubernetes() -> Self {
        Self {
            name: "kubernetes",
            version: pinned(
                include_str!("../../tools/kubernetes/go.mod"),
                "k8s.io/kubernetes",
            ),
            oldest: Version {
                major: 1,
                minor: 34,
                patch: 0,
            },
            programs: &KUBERNETES,
            tags: "",
            stamp: Stamp::Kubernetes(&[
                "k8s.io/component-base/version",
                "k8s.io/client-go/pkg/version",
            ]),
        }
    }

    /// The folder with its go.mod.
    pub(super) fn folder(&self) -> PathBuf {
        folder(self.name)
    }

    /// Linker flags: no symbol tables, and the version.
    pub(super) fn linker_flags(&self) -> String {
        let Version { major, minor, .. } = self.version;
        let mut flags = vec!["-s -w".to_owned()];
        match self.stamp {
            Stamp::None => {}
            Stamp::Variable(name) => flags.push(format!("-X {name}=v{}", self.version)),
            Stamp::Kubernetes(packages) => {
                for package in packages {
                    flags.push(format!("-X {package}.gitVersion=v{}", self.version));
                    flags.push(format!(
                        "-X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
                    ));
                    flags.push(format!("-X {package}.gitTreeState=archive"));
                }
            }
        }
        flags.join(" ")
    }
}

/// Where the go.mod of this name is.
pub(super) fn folder(name: &str) -> PathBuf {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tools");
    tools.join(name)
}

/// A release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) patch: u32,
}

impl Version {
    /// The first `major.minor.patch` in a text.
    pub(super) fn find(text: &str) -> Option<Self> {
        let number = |part: &str| part.parse().ok();
        text.split(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .find_map(|word| {
                let mut parts = word.splitn(3, '.');
                let (major, minor, patch) = (parts.next()?, parts.next()?, parts.next()?);
                Some(Self {
                    major: number(major)?,
                    minor: number(minor)?,
                    patch: number(patch)?,
                })
            })
    }

    /// Whether both are of one minor release.
    pub(super) fn is_minor_of(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The version of `module` that a go.mod requires.
pub(super) fn pinned(go_mod: &str, module: &str) -> Version {
    go_mod
        .lines()
        .map(|line| line.trim().trim_start_matches("require "))
        .find_map(|line| Version::find(line.strip_prefix(module)?.strip_prefix(" v")?))
        .expect("the go.mod beside this file requires its module")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_what_programs_print() {
        let check =
            |text, expected: &str| assert_eq!(Version::find(text).unwrap().to_string(), expected);
        check("etcd Version: 3.7.3\nGit SHA: Not provided", "3.7.3");
        check("v4.3.1", "4.3.1");
        check("Kubernetes v1.36.3", "1.36.3");
        check(
            "Client Version: v1.32.4-dispatcher\nKustomize Version: v5.5.0",
            "1.32.4",
        );
        assert_eq!(Version::find("no version"), None);
    }

    #[test]
    fn the_programs_are_stamped_with_the_pinned_version() {
        for (module, variable) in [
            (
                Module::kubernetes(),
                "k8s.io/client-go/pkg/version.gitVersion",
            ),
            (Module::helm(), "helm.sh/helm/v4/internal/version.version"),
            (
                Module::prometheus(),
                "github.com/prometheus/common/version.Version",
            ),
        ] {
            assert!(module.version >= module.oldest);
            let flags = module.linker_flags();
            let stamp = format!("-X {variable}=v{}", module.version);
            assert!(flags.contains(&stamp), "{flags}");
        }
    }
}
