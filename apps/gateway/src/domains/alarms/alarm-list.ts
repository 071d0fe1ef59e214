/** What is watched, as one list: figures of `/metrics`, rules for Prometheus, mails and the runbook are made of it. */
export interface AlarmKind {
  /** The gauge of `/metrics`: how many things are wrong, or a sum of them. */
  metric: string
  help: string
  /** What is over sooner is told to nobody, in seconds. */
  lastsSeconds: number
  severity: 'page' | 'ticket'
  /** Completes `Berth: …`, for the subject of a mail. */
  title: string
  /** What customers notice of it. */
  meaning: string
  /** What to do about it, in sentences. */
  todo: string
  /** It is of one computer, and each gateway looks for itself; left out: of the whole installation. */
  isLocal?: true
}

const MINUTE = 60

export const ALARMS = {
  books_differ: {
    metric: 'berth_books_differences',
    help: 'Differences that the last check of the books found.',
    lastsSeconds: 0,
    severity: 'page',
    title: 'the books do not balance',
    meaning:
      'Nothing is stopped and customers notice nothing, but some sum of money is not explained by its entries.',
    todo: 'Run `npm run operator -- books check`, which names both sides of each difference. Keep a backup of the database as it is, and tell us the lines: a difference is a mistake of the program. Money is put right by `credits give` or `refunds create`, never by changing rows.',
  },
  payment_events_aside: {
    metric: 'berth_payment_events_aside',
    help: 'Events of payment platforms that could not be booked for a quarter of an hour or more.',
    lastsSeconds: 0,
    severity: 'page',
    title: 'what a payment platform told cannot be booked',
    meaning:
      'The customers of these payments may miss money, or have some that was given back. All others are booked.',
    todo: 'The log has the whole error under `an event of a platform could not be booked`. Look at the platform’s own state page and at its keys first; what is mended is booked within the hour by itself.',
  },
  engines_lost: {
    metric: 'berth_engines_lost',
    help: 'Engines that have instances and that no gateway reaches.',
    lastsSeconds: 2 * MINUTE,
    severity: 'page',
    title: 'machines cannot be reached',
    meaning: 'Instances there are shown as `unknown` with the reason, cost nothing, and cannot be acted on.',
    todo: 'Start the gateway or the Docker Engine that is named, or mend the way to it. Machines are found again as they are, and billing goes on from then. Outages beyond the limit of the catalogue’s `sla` are credited by themselves.',
  },
  instances_stuck: {
    metric: 'berth_instances_stuck',
    help: 'Instances that have stayed in a passing state for half an hour or more.',
    lastsSeconds: 0,
    severity: 'ticket',
    title: 'instances are stuck',
    meaning: 'Their customers wait for a start, a stop or a removal. What is not ready is not billed.',
    todo: 'The log names each try with its instance’s id and what stood in the way. A full disk, an engine that hangs and an image that cannot be pulled are the usual reasons.',
  },
  instances_not_removed: {
    metric: 'berth_instances_not_removed',
    help: 'Instances removed by customers whose machines, and what they stored, could not be removed until now.',
    lastsSeconds: 5 * MINUTE,
    severity: 'ticket',
    title: 'machines of removed instances are still there',
    meaning: 'Their customers pay nothing more, but what they wanted gone still lies there.',
    todo: 'The log says at level `error` which one and what stands in the way. The removal goes on being tried.',
  },
  mails_late: {
    metric: 'berth_mails_late',
    help: 'Mails that have waited for ten minutes or more, where they are five and more than a tenth of an hour’s; else none.',
    lastsSeconds: 10 * MINUTE,
    severity: 'ticket',
    title: 'mails are not sent',
    meaning:
      'Customers wait for activations, resets of passwords and warnings of an empty balance. Mails are tried for a day.',
    todo: 'The log says under `a mail could not be sent` what the mail server answered. Look at `SMTP_URL`, at the server’s limits and at whether it still takes this sender.',
  },
  events_late: {
    metric: 'berth_events_late',
    help: 'Events between parts of the gateway that have waited for ten minutes or more.',
    lastsSeconds: 0,
    severity: 'ticket',
    title: 'events are not worked off',
    meaning:
      'What follows from what happened is late: mails, entries of the audit log, forgetting a deleted account.',
    todo: 'The log has the error of the listener that fails, with the event’s name. It is tried again with growing pauses; nothing is lost.',
  },
  disk_low: {
    metric: 'berth_disks_low',
    help: 'Folders of this gateway whose disk has less than a tenth, and less than 20 GB, left.',
    lastsSeconds: 5 * MINUTE,
    severity: 'page',
    title: 'a disk is nearly full',
    meaning:
      'A full disk stops the embedded database, and machines of the sandbox are ended one by one before that.',
    todo: 'Make room or grow the disk. Images that nobody uses can be deleted by their customers only; backups and logs are the first to look at.',
    isLocal: true,
  },
} as const satisfies Record<string, AlarmKind>

export type AlarmCode = keyof typeof ALARMS

/** Every alarm with its code. */
export const alarmEntries = () => Object.entries(ALARMS) as [AlarmCode, AlarmKind][]
