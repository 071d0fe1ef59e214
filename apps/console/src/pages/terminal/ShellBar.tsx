import { stopWebTerminal, TERMINAL_SERIAL } from '@berth/contract/instances'
import { ActionIcon } from '@mantine/core'
import { IconPlus, IconX } from '@tabler/icons-react'
import type { TFunction } from 'i18next'
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
  // The serial console is no shell: it is there for as long as its machine is.
  const mayClose = shown !== TERMINAL_SERIAL && shells.listed.length > 1
  const close = () => {
    if (!mayClose) return
    if (hasEnded) drop(shown)
    else setClosing({ number: shown, isAsked: true })
  }
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
          label: nameOfShell(t, number),
        }))}
      />
      <div className={classes.tools}>
        {mayClose && (
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

/** What a tab is called. */
export function nameOfShell(t: TFunction<'instances'>, number: number): string {
  return number === TERMINAL_SERIAL ? t('terminal.serial') : t('terminal.shell', { number })
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
