/** Whether something is held to its limit, or why not, in words for operators and customers. */
export type Capability = { enforced: true; how: string } | { enforced: false; why: string }
