import { CODE_LANGUAGES, type CodeLanguage, deployCode, TOKEN_VARIABLE } from '@berth/contract/deploy-code'
import type { DeployBody } from '@berth/contract/instances'
import { Button, Modal } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { copyText } from '../../../ui/copy-text.ts'
import { SegmentedFilter } from '../../../ui/SegmentedFilter.tsx'
import { toast } from '../../../ui/toast.ts'
import classes from './CodeDialog.module.css'

const NAMES: Record<CodeLanguage, string> = { curl: 'cURL', typescript: 'TypeScript' }

interface CodeDialogProps {
  /** What the deploy form would send. */
  body: DeployBody
  opened: boolean
  onClose: () => void
}

/** The deploy of the form as the same call elsewhere (B18). */
export function CodeDialog({ body, opened, onClose }: CodeDialogProps) {
  const { t } = useTranslation(['deploy', 'common'])
  const [language, setLanguage] = useState<CodeLanguage>('curl')
  const [isCopied, setIsCopied] = useState(false)
  const code = deployCode(language, window.location.origin, body)
  const secrets = body.secret_env
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('code.title')}
      size={720}
      closeButtonProps={{ 'aria-label': t('common:dialog.close') }}
    >
      <div className={classes.body}>
        <div className={classes.bar}>
          <SegmentedFilter
            label={t('code.language')}
            value={language}
            onChange={chosen => {
              setLanguage(chosen)
              setIsCopied(false)
            }}
            options={CODE_LANGUAGES.map(value => ({ value, label: NAMES[value] }))}
          />
          <Button
            variant="default"
            leftSection={
              isCopied ? (
                <IconCheck size={16} aria-hidden="true" />
              ) : (
                <IconCopy size={16} stroke={1.6} aria-hidden="true" />
              )
            }
            onClick={() =>
              void copyText(code).then(
                () => setIsCopied(true),
                () => toast.bad(t('common:copy.failed')),
              )
            }
          >
            {t(isCopied ? 'common:copy.copied' : 'code.copy')}
          </Button>
        </div>
        <section
          className={classes.code}
          aria-label={NAMES[language]}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll what has the focus
          tabIndex={0}
        >
          <pre className="mono">{code}</pre>
        </section>
        <p className={classes.note}>
          {t('code.token', { variable: TOKEN_VARIABLE })}
          {secrets.length > 0 &&
            ` ${t('code.secrets', { count: secrets.length, example: `<${secrets[0]}>` })}`}
        </p>
      </div>
    </Modal>
  )
}
