//! The README of the demo's folder: the commands to try, with the paths of this very folder.

use anyhow::{Context, Result};
use armadex_e2e::{ControlPlaneKind, Folder, Tools};

/// Where the demo runs the control plane itself.
const MEMBERS: &str = "  make demo-join NAME=member3      # its rows appear by themselves\n\
    \x20 make demo-unjoin NAME=member3    # and go\n\
    \x20 make demo-seed COUNT=20000       # realistic objects into every member\n";

/// What makes `kf` of the demo's own kubectl and of the fleet's kubeconfig: a machine may have neither in its path.
pub(crate) fn alias(folder: &Folder, tools: &Tools) -> String {
    let (kubectl, fleet) = (tools.kubectl.display(), folder.fleet_kubeconfig());
    format!("alias kf='{kubectl} --kubeconfig {}'", fleet.display())
}

/// The commands that the demo prints when it is ready.
pub(crate) fn commands(folder: &Folder, tools: &Tools, kind: ControlPlaneKind) -> String {
    let alias = alias(folder, tools);
    let members = match kind {
        ControlPlaneKind::Attached => "",
        ControlPlaneKind::Karmada | ControlPlaneKind::StandIn => MEMBERS,
    };
    format!(
        "  {alias}\n\
         \n\
         \x20 kf --context clusterpedia get pods -A                          # every pod of the fleet\n\
         \x20 kf --context clusterpedia get deploy -A -l team=red\n\
         \x20 kf --context clusterpedia get pods -A -l 'search.clusterpedia.io/clusters in (member1),app=cache'\n\
         \x20 kf --context member1 get nodes                                 # one member, from the store\n\
         \n\
         {members}\
         \x20 make demo-down                   # or Ctrl-C in the demo's terminal\n"
    )
}

/// Writes the README.
pub(crate) fn write(folder: &Folder, tools: &Tools, kind: ControlPlaneKind) -> Result<()> {
    let text = format!(
        "The Armadex demo\n\
         ================\n\
         \n\
         The control plane is {kind}.\n\
         \n\
         host.kubeconfig        straight to the control plane's apiserver (context host)\n\
         <member>.kubeconfig    straight to a member's apiserver (context <member>)\n\
         fleet.kubeconfig       through Armadex: context clusterpedia is the fleet, <member> one member\n\
         store.db               the store (SQLite)\n\
         logs/                  a log for each process\n\
         state/                 what the harness needs: keys, etcd's data, process ids\n\
         \n\
         Try\n\
         ---\n\
         \n{}",
        commands(folder, tools, kind)
    );
    let path = folder.root().join("README");
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}
