import { instanceCan } from '@berth/contract/instance-states'
import type { ActionSubject, RowAction } from '../../instances/instance-actions.ts'

/** What the page shows itself, so that its menu leads to no dialog for it. */
const ON_PAGE: readonly RowAction[] = ['events', 'logs']

/** Whether an action of the list's menu is a part of the page. */
export function isOnPage(action: RowAction): boolean {
  return ON_PAGE.includes(action)
}

/**
 * The buttons of the page's head: what one most likely wants, and what else the status allows. Everything stands in the
 * menu beside them.
 * @param subject An instance. Where it can be neither entered nor started, entering it is what one waits for.
 */
export function buttonsFor(subject: ActionSubject): { primary: RowAction; beside: readonly RowAction[] } {
  const primary = instanceCan('start', subject) ? 'start' : 'connect'
  const beside = (['stop', 'restart'] as const).filter(action => instanceCan(action, subject))
  return { primary, beside }
}
