import { ALERT_HOURS_CHOICES, ALERT_HOURS_DEFAULT } from '@berth/contract/limits'
import { notificationChoice as choiceEntity, type NotificationChoice } from '@berth/contract/notifications'
import { eq, inArray } from 'drizzle-orm'
import type { Queryable, Transaction } from '../../platform/database/database.ts'
import { columnsOf, wireOf } from '../../platform/http/wire.ts'
import { balanceAlert, notificationChoice } from './tables.ts'

type Row = typeof notificationChoice.$inferSelect

const mailsOf = wireOf(choiceEntity.shape.mails)

/** What a customer wants who has never said anything (R1.7). */
export const DEFAULT_CHOICE: NotificationChoice = {
  mails: {
    new_sign_in: true,
    key_added: true,
    top_up_receipt: true,
    instance_trouble: true,
    balance_low: true,
    offer_watch: true,
  },
  alert_hours: [...ALERT_HOURS_DEFAULT],
}

/** What a customer wants. */
export async function readChoice(q: Pick<Queryable, 'select'>, userId: string): Promise<NotificationChoice> {
  const [row] = await q.select().from(notificationChoice).where(eq(notificationChoice.userId, userId))
  return row ? choiceOf(row) : DEFAULT_CHOICE
}

/** What customers want who have said something; the others want what a new account wants. */
export async function readChoices(
  q: Pick<Queryable, 'select'>,
  userIds: string[],
): Promise<Map<string, NotificationChoice>> {
  const rows = await q.select().from(notificationChoice).where(inArray(notificationChoice.userId, userIds))
  return new Map(rows.map(row => [row.userId, choiceOf(row)]))
}

/** Keeps what a customer wants. @returns What is kept. */
export async function saveChoice(
  q: Pick<Queryable, 'insert'>,
  userId: string,
  { mails, alert_hours }: NotificationChoice,
): Promise<NotificationChoice> {
  const values = { ...columnsOf(mails), alertHours: alert_hours }
  await q
    .insert(notificationChoice)
    .values({ userId, ...values })
    .onConflictDoUpdate({ target: notificationChoice.userId, set: values })
  return choiceOf({ userId, ...values })
}

/** Removes a customer's choices and the alerts that were sent. */
export async function forgetChoices(tx: Transaction, userId: string): Promise<void> {
  await tx.delete(notificationChoice).where(eq(notificationChoice.userId, userId))
  await tx.delete(balanceAlert).where(eq(balanceAlert.userId, userId))
}

function choiceOf(row: Row): NotificationChoice {
  return {
    mails: mailsOf(row),
    // An hour that an older version offered is none any more.
    alert_hours: ALERT_HOURS_CHOICES.filter(hours => row.alertHours.includes(hours)),
  }
}
