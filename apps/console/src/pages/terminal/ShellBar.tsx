import { stopWebTerminal } from '@berth/contract/instances'
import { ActionIcon } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import { Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useChange } from '../../api/use-change.ts'
import { lazyPart } from '../../app/lazy-part.ts'
import { useOffFor } from '../../app/session/use-off-for.ts'
import { TabBar } from '../../ui/TabBar.tsx'
import classes from './ShellBar.module.css'
import type { Shells } from './use-shells.ts'

const ConfirmDialog = lazyPart(() =>
  import('../../ui/ConfirmDialog.tsx').then(module => module.ConfirmDialog),
)
const ReasonTooltip = lazyPart(() =>
  import('../../ui/ReasonTooltip.tsx').then(module => module.ReasonTooltip),
)

interface ShellBarProps {
  instanceId: string
  shells: Shells
  /** Number of the shell in sight. */
  shown: number
  /** Whether that one has ended: then nothing is lost with its tab. */
  hasEnded: boolean
  panelId: string
  onShow: (session: number) => void
  /** The shell in sight may take the focus. */
  onEnter: () => void
}

/** The shells of an instance, one in sight; another one is opened here, and the one in sight is closed. */
export function ShellBar(props: ShellBarProps) {
  const { instanceId, shells, shown, hasEnded, panelId, onShow, onEnter } = props
  const { t } = useTranslation('instances')
  const end = useChange(stopWebTerminal)
  const off = useOffFor(stopWebTerminal)
  const [closing, setClosing] = useState<{ number: number; isAsked: boolean } | null>(null)
  const drop = (session: number) => {
    const next = shells.drop(session)
    if (next !== null) onShow(next)
    onEnter()
  }
  const close = () => {
    if (shells.listed.length < 2) return
    if (hasEnded) drop(shown)
    else setClosing({ number: shown, isAsked: true })
  }
  // Where there can be no second one there is nothing to choose.
  if (shells.max === 1) return null
  return (
    <div className={classes.bar}>
      <TabBar
        label={t('terminal.shells')}
        value={String(shown)}
        onChange={value => onShow(Number(value))}
        onEnter={onEnter}
        onRemove={close}
        panelId={panelId}
        options={shells.listed.map(number => ({
          value: String(number),
          label: t('terminal.shell', { number }),
        }))}
      />
      <div className={classes.tools}>
        {shells.listed.length > 1 && (
          <ActionIcon
            size="sm"
            aria-label={t('terminal.close_shell', { number: shown })}
            title={t('terminal.close_shell', { number: shown })}
            onClick={close}
          >
            <IconX size={15} stroke={1.6} />
          </ActionIcon>
        )}
        <OpenAnother shells={shells} onOpen={onShow} onEnter={onEnter} />
      </div>
      {closing && (
        <Suspense>
          <ConfirmDialog
            danger
            off={off}
            opened={closing.isAsked}
            title={t('terminal.close_title', { number: closing.number })}
            confirmLabel={t('terminal.close_confirm')}
            onConfirm={async () => {
              await end.send({ body: { instance_id: instanceId, session: closing.number } })
              drop(closing.number)
            }}
            onClose={() => setClosing({ ...closing, isAsked: false })}
          >
            {t('terminal.close_text')}
          </ConfirmDialog>
        </Suspense>
      )}
    </div>
  )
}

interface OpenAnotherProps extends Pick<ShellBarProps, 'shells' | 'onEnter'> {
  onOpen: (session: number) => void
}

/** Opens another shell, or says why there is none. */
function OpenAnother({ shells: { next, max }, onOpen, onEnter }: OpenAnotherProps) {
  const { t } = useTranslation('instances')
  const button = (
    <ActionIcon
      size="sm"
      aria-label={t('terminal.open_shell')}
      {...(next === null ? { 'data-disabled': true, 'aria-disabled': true } : {})}
      onClick={() => {
        if (next === null) return
        onOpen(next)
        onEnter()
      }}
    >
      <IconPlus size={16} stroke={1.6} />
    </ActionIcon>
  )
  if (next !== null) return button
  const reason = max === null ? t('terminal.shells_unknown') : t('terminal.shells_full', { max })
  return (
    <Suspense fallback={button}>
      <ReasonTooltip reason={reason}>{button}</ReasonTooltip>
    </Suspense>
  )
}
