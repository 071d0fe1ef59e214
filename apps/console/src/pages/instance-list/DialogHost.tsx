import type { Instance } from '@berth/contract/instances'
import { type ComponentType, type LazyExoticComponent, lazy, Suspense, useCallback, useState } from 'react'
import type { RowAction } from './instance-actions.ts'
import type { InstanceDialogProps } from './instance-dialog.ts'
import { rowActionsId } from './RowActions.tsx'

type LazyDialog = LazyExoticComponent<ComponentType<InstanceDialogProps>>

const confirms = () => import('./ConfirmDialogs.tsx')

/** Each action's dialog; its code comes when it is first asked for. */
const DIALOGS: Record<RowAction, LazyDialog> = {
  connect: lazy(() => import('./ConnectDialog.tsx').then(module => ({ default: module.ConnectDialog }))),
  start: lazy(() => confirms().then(module => ({ default: module.StartDialog }))),
  stop: lazy(() => confirms().then(module => ({ default: module.StopDialog }))),
  restart: lazy(() => confirms().then(module => ({ default: module.RestartDialog }))),
  edit: lazy(() => import('./RenameDialog.tsx').then(module => ({ default: module.RenameDialog }))),
  events: lazy(() => import('./EventsDialog.tsx').then(module => ({ default: module.EventsDialog }))),
  terminate: lazy(() => confirms().then(module => ({ default: module.TerminateDialog }))),
}

/** Longer than a closing dialog takes to let go of the focus. */
const FOCUS_BACK_MS = 50

interface Asked {
  action: RowAction
  /** As it was when it was asked for: an instance that is gone is still named while its dialog closes. */
  instance: Instance
  opened: boolean
}

export interface Dialogs {
  asked: Asked | null
  ask: (action: RowAction, instance: Instance) => void
  close: () => void
}

/** Which dialog is open, for which instance. */
export function useDialogs(): Dialogs {
  const [asked, setAsked] = useState<Asked | null>(null)
  const ask = useCallback(
    (action: RowAction, instance: Instance) => setAsked({ action, instance, opened: true }),
    [],
  )
  const close = useCallback(() => {
    setAsked(before => {
      if (before?.opened) focusRow(before.instance.instance_id)
      return before && { ...before, opened: false }
    })
  }, [])
  return { asked, ask, close }
}

/** The one dialog that is open, over the newest that is known of its instance. */
export function DialogHost({ dialogs, instances }: { dialogs: Dialogs; instances: readonly Instance[] }) {
  const { asked, close } = dialogs
  if (!asked) return null
  const { action, opened } = asked
  const id = asked.instance.instance_id
  const instance = instances.find(({ instance_id }) => instance_id === id) ?? asked.instance
  const Dialog = DIALOGS[action]
  return (
    <Suspense>
      <Dialog key={`${action}${id}`} instance={instance} opened={opened} onClose={close} />
    </Suspense>
  )
}

/** The button that was pressed may have given way to another one, so the row's menu takes the focus. */
function focusRow(instanceId: string): void {
  setTimeout(() => {
    if (document.activeElement && document.activeElement !== document.body) return
    const buttons = document.getElementById(rowActionsId(instanceId))?.querySelectorAll('button')
    buttons?.[buttons.length - 1]?.focus({ preventScroll: true })
  }, FOCUS_BACK_MS)
}
