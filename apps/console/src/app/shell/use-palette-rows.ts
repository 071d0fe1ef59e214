import type { User } from '@berth/contract/account'
import { topup } from '@berth/contract/billing'
import { type InstanceAction, instanceCan } from '@berth/contract/instance-states'
import { type Instance, startInstance } from '@berth/contract/instances'
import { LANGUAGES } from '@berth/contract/limits'
import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import {
  IconBook,
  IconCopy,
  IconDeviceDesktop,
  IconKeyboard,
  IconLanguage,
  IconList,
  IconLogout,
  IconMoon,
  IconPlayerPlay,
  IconPlayerStop,
  IconPlugConnected,
  IconPlus,
  IconRefresh,
  IconServer,
  IconSettings,
  IconSun,
  IconTerminal2,
  IconWallet,
} from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { instancesQuery } from '../../api/instances-query.ts'
import { copyText } from '../../ui/copy-text.ts'
import { paymentsOfPage } from '../../ui/payments-of-page.ts'
import { toast } from '../../ui/toast.ts'
import { currentLanguage, LANGUAGE_NAMES, setLanguage } from '../i18n.ts'
import { pageTitle } from '../page-title.ts'
import { searchOf, stringifySearch } from '../search.ts'
import { useOffFor } from '../session/use-off-for.ts'
import { SECTION_IDS, type SectionId } from '../settings-sections.ts'
import { MENU } from './menu.ts'
import type { PaletteRow } from './palette-rows.ts'
import type { ShellCommands } from './shell-commands.ts'
import { SHORTCUTS } from './shortcuts.ts'

const LIST_PATH = '/instance-list'

/** What can be done with an instance from here, and the dialog of its list that does it. */
const DIALOGS = [
  { action: 'connect', icon: IconPlugConnected },
  { action: 'start', icon: IconPlayerPlay },
  { action: 'stop', icon: IconPlayerStop },
  { action: 'restart', icon: IconRefresh },
] as const satisfies { action: InstanceAction; icon: typeof IconServer }[]

/** What somebody may type who looks for a section and does not know what it is called here. */
const SECTION_WORDS: Record<SectionId, string> = {
  profile: 'username account',
  notifications: 'mail email alerts',
  billing: 'invoice company address tax vat',
  'sign-in': 'password login github google',
  sessions: 'devices',
  'audit-log': 'history',
  'ssh-keys': 'public key',
  registries: 'docker private images',
  'api-keys': 'token openai',
  delete: 'close remove',
}

interface PaletteDeps {
  user: User | null
  docsUrl: string | undefined
  commands: ShellCommands
  /** Shows what can be done with one instance. */
  onSubject: (instance: Instance) => void
}

/** Pages and commands, for the palette. */
export function useCommandRows({ user, docsUrl, commands }: PaletteDeps): PaletteRow[] {
  const { t } = useTranslation('common')
  const navigate = useNavigate()
  const themes = useThemeRows()
  const pages = MENU.flatMap(group => group.entries).map(
    ({ path, icon }): PaletteRow => ({
      id: path,
      group: 'pages',
      label: pageTitle(path, t),
      words: path,
      icon,
      ...keysOf(path),
      ends: 'leaves',
      run: () => void navigate({ to: path }),
    }),
  )
  const command = (
    id: string,
    label: string,
    row: Pick<PaletteRow, 'icon' | 'run'> & Partial<PaletteRow>,
  ) => ({
    id,
    group: 'commands' as const,
    label,
    ...row,
  })
  const languages = LANGUAGES.filter(language => language !== currentLanguage()).map(language =>
    command(`language-${language}`, LANGUAGE_NAMES[language], {
      hint: t('language.label'),
      words: `language ${language}`,
      icon: IconLanguage,
      onlyAsked: true,
      run: () => void setLanguage(language),
    }),
  )
  const topupOff = useOffFor(topup)
  const copyAccount = async (id: string) => {
    await copyText(id).then(
      () => toast.good(t('copy.copied')),
      () => toast.bad(t('copy.failed')),
    )
  }
  const own = user
    ? [
        command('deploy', t('palette.deploy'), {
          icon: IconPlus,
          ends: 'leaves',
          run: () => void navigate({ to: '/explore' }),
        }),
        ...(paymentsOfPage() === 'none'
          ? []
          : [
              command('top-up', t('balance.top_up'), {
                off: topupOff,
                words: t('balance.label'),
                icon: IconWallet,
                ends: 'leaves',
                run: () => void navigate({ to: '/payments', search: searchOf({ topup: 'open' }) }),
              }),
            ]),
        command('copy-account', t('palette.copy_account'), {
          hint: user.accountId,
          icon: IconCopy,
          run: () => void copyAccount(user.accountId),
        }),
      ]
    : []
  const docs = docsUrl
    ? [
        command('docs', t('palette.docs'), {
          icon: IconBook,
          run: () => void window.open(docsUrl, '_blank', 'noopener'),
        }),
      ]
    : []
  const sheet = command('shortcuts', t('shortcuts.title'), {
    icon: IconKeyboard,
    keys: ['?'],
    ends: 'opens',
    run: commands.showShortcuts,
  })
  const leave = user
    ? [command('log-out', t('avatar.log_out'), { icon: IconLogout, ends: 'opens', run: commands.logOut })]
    : []
  const sections = user
    ? SECTION_IDS.map(
        (id): PaletteRow => ({
          id: `settings-${id}`,
          group: 'pages',
          label: t(`settings_sections.${id}`),
          hint: pageTitle('/settings', t),
          // By its name in the address too, which is what people type: `ssh`.
          words: `${id} ${SECTION_WORDS[id]}`,
          icon: IconSettings,
          onlyAsked: true,
          ends: 'leaves',
          run: () => void navigate({ to: '/settings', search: searchOf({ section: id }) }),
        }),
      )
    : []
  return [...pages, ...sections, ...own, ...themes, ...languages, ...docs, sheet, ...leave]
}

function useThemeRows(): PaletteRow[] {
  const { t } = useTranslation('common')
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  const base = { group: 'commands', words: t('theme.label') } as const
  const other: PaletteRow = {
    ...base,
    id: 'theme',
    label: t(dark ? 'theme.to_light' : 'theme.to_dark'),
    icon: dark ? IconSun : IconMoon,
    run: () => setColorScheme(dark ? 'light' : 'dark'),
  }
  const system: PaletteRow = {
    ...base,
    id: 'theme-auto',
    label: t('palette.theme_auto'),
    icon: IconDeviceDesktop,
    run: () => setColorScheme('auto'),
  }
  return colorScheme === 'auto' ? [other] : [other, system]
}

/**
 * The customer's instances, each with what it allows now.
 * @returns `failed` where they could not be fetched: then none is found, which must not look as if there were none.
 */
export function useInstanceRows({ user, onSubject }: PaletteDeps, opened: boolean) {
  const { t } = useTranslation('common')
  const actionsOf = useInstanceActions()
  const { data = [], isError } = useQuery({
    ...instancesQuery,
    enabled: opened && user !== null,
    meta: { silent: true },
  })
  const rows = data.flatMap((instance): PaletteRow[] => [
    {
      id: instance.instance_id,
      group: 'instances',
      label: instance.name,
      hint: `${instance.instance_id} · ${t(`status.${instance.status}`)}`,
      icon: IconServer,
      ends: 'stays',
      run: () => onSubject(instance),
    },
    ...actionsOf(instance).map(row => ({ ...row, hint: instance.name, onlyAsked: true })),
  ])
  return { rows, failed: isError, actionsOf }
}

/** Makes the rows of what one instance allows in its status, by the state table (R4.5). */
function useInstanceActions(): (instance: Instance) => PaletteRow[] {
  const { t } = useTranslation(['common', 'errors'])
  const navigate = useNavigate()
  const off = useOffFor(startInstance)
  return instance => {
    const { instance_id: id } = instance
    const toList = (search: Record<string, string>) =>
      void navigate({ to: LIST_PATH, search: searchOf(search) })
    const base = { group: 'instances', words: id, ends: 'leaves' } as const
    const dialogs = DIALOGS.filter(({ action }) => instanceCan(action, instance)).map(
      ({ action, icon }): PaletteRow => ({
        ...base,
        id: `${action}-${id}`,
        label: t(`palette.${action}`),
        icon,
        off,
        run: () => toList({ dialog: action, instance: id }),
      }),
    )
    const terminal: PaletteRow = {
      ...base,
      id: `terminal-${id}`,
      label: t('palette.terminal'),
      icon: IconTerminal2,
      off,
      run: () => void window.open(`/terminal${stringifySearch({ instance: id })}`, '_blank', 'noopener'),
    }
    const show: PaletteRow = {
      ...base,
      id: `show-${id}`,
      label: t('palette.show'),
      icon: IconList,
      run: () => toList({ q: id }),
    }
    return [show, ...(instanceCan('connect', instance) ? [terminal] : []), ...dialogs]
  }
}

function keysOf(path: string): Pick<PaletteRow, 'keys'> {
  const keys = SHORTCUTS.find(one => one.path === path)?.keys
  return keys ? { keys } : {}
}
