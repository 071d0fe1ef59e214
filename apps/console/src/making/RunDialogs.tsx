import type { ModelTool } from '@berth/contract/model-code'
import { Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { lazyPart } from '../app/lazy-part.ts'

const RunCode = lazyPart(() => import('./RunCode.tsx').then(module => module.RunCode))
const ConfirmDialog = lazyPart(() => import('../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog))

/** What is asked for of a run in a dialog. */
export type RunDialog = 'code' | 'delete'

interface RunDialogsProps {
  asked: RunDialog | null
  codeOf: (tool: ModelTool, url: string) => string
  /** Whether a picture of one's own lies beside the program. */
  hasPicture: boolean
  hasLastPicture?: boolean
  /** What is deleted, as a question and with what follows. */
  deleting: { title: string; text: string }
  onDelete: () => Promise<unknown>
  onClose: () => void
}

/** How a program makes what a run has made, and whether it is to be deleted. */
export function RunDialogs({
  asked,
  codeOf,
  hasPicture,
  hasLastPicture = false,
  deleting,
  onDelete,
  onClose,
}: RunDialogsProps) {
  const { t } = useTranslation('making')
  return (
    <Suspense>
      {asked === 'code' && <RunCode {...{ codeOf, hasPicture, hasLastPicture, onClose }} />}
      {asked === 'delete' && (
        <ConfirmDialog
          opened
          danger
          title={deleting.title}
          confirmLabel={t('run.delete')}
          onConfirm={onDelete}
          onClose={onClose}
        >
          {deleting.text}
        </ConfirmDialog>
      )}
    </Suspense>
  )
}
