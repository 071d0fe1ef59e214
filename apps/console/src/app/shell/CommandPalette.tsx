import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { Spotlight, spotlight } from '@mantine/spotlight'
import { IconMoon, IconSearch, IconSun } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useTranslation } from 'react-i18next'
import { pageTitle } from '../page-title.ts'
import classes from './CommandPalette.module.css'
import { MENU } from './menu.ts'

/**
 * Pages and commands by name (Ctrl+K).
 * @param props.asked Opens it whenever the number grows.
 */
export function CommandPalette({ asked }: { asked: number }) {
  const { t } = useTranslation('common')
  const navigate = useNavigate()
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light') === 'dark'
  useEffect(() => {
    if (asked > 0) spotlight.open()
  }, [asked])

  const pages = MENU.flatMap(group => group.entries).map(({ path, icon: Icon }) => ({
    id: path,
    label: pageTitle(path, t),
    leftSection: <Icon size={17} stroke={1.6} />,
    onClick: () => void navigate({ to: path }),
  }))
  const theme = {
    id: 'theme',
    label: t(dark ? 'theme.to_light' : 'theme.to_dark'),
    leftSection: dark ? <IconSun size={17} stroke={1.6} /> : <IconMoon size={17} stroke={1.6} />,
    onClick: () => setColorScheme(dark ? 'light' : 'dark'),
  }
  return (
    <Spotlight
      // The shell listens for the keys, because it is there before this code is.
      shortcut={null}
      actions={[
        { group: t('palette.pages'), actions: pages },
        { group: t('palette.commands'), actions: [theme] },
      ]}
      nothingFound={t('palette.nothing')}
      highlightQuery={false}
      lockScroll={false}
      centered={false}
      yOffset="14vh"
      overlayProps={{ blur: 0 }}
      transitionProps={{ duration: 120, transition: 'fade' }}
      classNames={{
        content: classes.content ?? '',
        search: classes.search ?? '',
        action: classes.action ?? '',
        actionsGroup: classes.group ?? '',
        actionsList: classes.list ?? '',
      }}
      searchProps={{
        placeholder: t('palette.placeholder'),
        'aria-label': t('palette.placeholder'),
        leftSection: <IconSearch size={17} stroke={1.6} />,
      }}
    />
  )
}
