/** Bounds of what customers ask about files of their instances. Tests hand in smaller ones. */
export interface FileLimits {
  /** Uploads and downloads under way: of one instance, of one customer, and of this gateway. */
  transfers: SlotLimits
  /** The same of what is only asked, such as what a folder holds. */
  questions: SlotLimits
  /** How long a machine may take to answer; removing a folder of many files takes a while. */
  answerMs: number
  /** A transfer is ended that carried nothing for so long, whoever of the two it was that waited. */
  idleMs: number
  /** Entries of a folder that are answered at a time. */
  entriesMax: number
  /** What is read of an answer: the longest names of a page, three times, with their figures. */
  answerBytesMax: number
  /** How often it is looked whether the sessions are open whose transfers are under way. */
  sessionsMs: number
}

export interface SlotLimits {
  perInstanceMax: number
  perCustomerMax: number
  max: number
}

export const FILE_LIMITS: FileLimits = {
  // A browser opens six connections to one server; a page uses some for its own calls.
  transfers: { perInstanceMax: 8, perCustomerMax: 16, max: 400 },
  questions: { perInstanceMax: 8, perCustomerMax: 16, max: 200 },
  answerMs: 50_000,
  idleMs: 120_000,
  entriesMax: 500,
  answerBytesMax: 640 * 1024,
  sessionsMs: 30_000,
}
