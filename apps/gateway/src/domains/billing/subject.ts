/** What can cost a customer something. The id is that of its own domain. */
export const SUBJECT_KINDS = ['instance', 'network_volume', 'image', 'public_ip', 'model_call'] as const

/** One thing that has meters, holds and transactions. */
export interface Subject {
  kind: (typeof SUBJECT_KINDS)[number]
  id: string
}
