//! System call filters: one for a sandbox, one that leaves only local sockets. Tables, and their compilation; who gets
//! which is decided by the caller.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};

/// Calls that no command of an agent needs, and that have been ways out of sandboxes before.
const REFUSED: &[i64] = &[
    // Keys of the kernel are not in any namespace.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Other processes, the guard among them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // The tree of files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_setns,
    // Large parts of the kernel, rarely needed and often broken.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The machine itself.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
];

/// What makes a new namespace, as a flag of `clone` and `unshare`.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// `TIOCSTI`, which C libraries give different types.
const PUSH_BACK: u64 = 0x5412;

/// The programs of a sandbox, in the form the kernel reads.
pub fn filters() -> Result<Vec<Vec<u8>>, String> {
    let refused = sandbox().map_err(|error| format!("the system call filter: {error}"))?;
    Ok(vec![bytes(&refused), bytes(&unknown())])
}

/// Leaves this thread, and everything it starts, only local sockets.
pub fn go_offline() -> io::Result<()> {
    let offline = offline().map_err(io::Error::other)?;
    seccompiler::apply_filter(&offline).map_err(io::Error::other)?;
    // Otherwise the call above could be made by a number, or in a form, that it does not look at.
    seccompiler::apply_filter(&unknown()).map_err(io::Error::other)
}

fn sandbox() -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let namespaces = NAMESPACES.iter().map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        rule(SeccompCmpOp::MaskedEq(flag), flag)
    });
    let namespaces: Vec<SeccompRule> = namespaces.collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces);
    // A terminal's input must not be written to; a new session alone does not hold for one that is opened again.
    let push_back = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, PUSH_BACK)?;
    rules.insert(libc::SYS_ioctl, vec![SeccompRule::new(vec![push_back])?]);
    compile(rules)
}

fn offline() -> Result<BpfProgram, seccompiler::Error> {
    let local = u64::from(libc::AF_UNIX.unsigned_abs());
    let calls = [libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = calls.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, vec![rule(SeccompCmpOp::Ne, local)?]);
    compile(rules)
}

/// About a call's first argument.
fn rule(compare: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::Error> {
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, compare, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

fn compile(rules: BTreeMap<i64, Vec<SeccompRule>>) -> Result<BpfProgram, seccompiler::Error> {
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(BpfProgram::try_from(SeccompFilter::new(rules, SeccompAction::Allow, refuse, target)?)?)
}

/// Answers "no such call" where a filter cannot look: `clone3` keeps its flags in memory, and every library falls back
/// to `clone`; numbers of the x32 table would name refused calls a second time.
fn unknown() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let clone3 = u32::try_from(libc::SYS_clone3).expect("a small number");
    vec![
        step(LOAD_NUMBER, 0, 0, 0),
        step(JUMP_IF_EQUAL, 2, 0, clone3),
        step(JUMP_IF_AT_LEAST, 1, 0, X32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs()),
    ]
}

fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let steps = program.iter();
    steps
        .flat_map(|step| [&step.code.to_ne_bytes()[..], &[step.jt, step.jf], &step.k.to_ne_bytes()].concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{bytes, filters, unknown};

    #[test]
    fn every_filter_fits_into_a_pipe_and_has_whole_steps() {
        for filter in filters().expect("it compiles") {
            assert!(filter.len() <= 64 << 10, "{}", filter.len());
            assert_eq!(filter.len() % 8, 0);
        }
        assert_eq!(bytes(&unknown())[..8], [0x20, 0, 0, 0, 0, 0, 0, 0]);
    }
}
