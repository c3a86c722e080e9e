//! What is shown on small fleets. Each test starts its own and mostly waits: for a probe, a lease, a second look. One program has them all, so that as many go on
//! at the same time as there are cores and memory for (`seats`); they begin by their names, and those that wait longest are among the first.

mod answers;
mod around;
mod attached;
mod audits;
mod backups;
mod callers;
mod causes;
mod control_planes;
mod copies;
mod demo;
mod desk;
mod faults;
mod fields;
mod handover;
mod installing;
mod least;
mod moving;
mod onboarding;
mod platforms;
mod readme;
mod replicas;
mod rewound;
mod sharing;
