import type { ModelTool } from '@berth/contract/model-code'
import { Modal } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { CallCode } from '../models/CallCode.tsx'
import { isCovered } from '../ui/covering.ts'
import classes from './RunCode.module.css'

interface RunCodeProps {
  codeOf: (tool: ModelTool, url: string) => string
  /** Whether a picture of one's own lies beside the program. */
  hasPicture: boolean
  /** The same of one that a film ends with. */
  hasLastPicture?: boolean
  onClose: () => void
}

/** How a program makes what a run has made (B11). */
export function RunCode({ codeOf, hasPicture, hasLastPicture = false, onClose }: RunCodeProps) {
  const { t } = useTranslation(['making', 'common'])
  return (
    <Modal
      opened
      size={720}
      title={t('code.title')}
      onClose={() => isCovered() || onClose()}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
    >
      <div className={classes.body}>
        {hasPicture && <p className={classes.note}>{t('code.picture')}</p>}
        {hasLastPicture && <p className={classes.note}>{t('code.last_picture')}</p>}
        <CallCode calls={[{ codeOf }]} />
      </div>
    </Modal>
  )
}
