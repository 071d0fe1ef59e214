import { and, eq, type SQL } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'

/** What can cost a customer something. The id is that of its own domain. */
export const SUBJECT_KINDS = [
  'instance',
  'network_volume',
  'volume_snapshot',
  'image',
  'public_ip',
  'model_call',
] as const

/** One thing that has meters, holds and transactions. */
export interface Subject {
  kind: (typeof SUBJECT_KINDS)[number]
  id: string
}

/** A table whose rows belong to subjects. */
type SubjectTable = Record<'userId' | 'subjectKind' | 'subjectId', PgColumn>

/** The condition that finds the rows of one customer's subject. */
export function ofSubject(
  table: SubjectTable,
  { userId, subject }: { userId: string; subject: Subject },
): SQL | undefined {
  return and(eq(table.userId, userId), eq(table.subjectKind, subject.kind), eq(table.subjectId, subject.id))
}
