# CSAUD_SANITIZE: what to build the native code with, for both packages (tests/sanitize.py).
set(CSAUD_SANITIZE OFF CACHE STRING "ON or address: AddressSanitizer and UndefinedBehaviorSanitizer; thread: ThreadSanitizer")

# Gives a target, and with PUBLIC or INTERFACE what links to it, the sanitizers asked for.
function(csaud_sanitize target scope)
  if(NOT CSAUD_SANITIZE)
    return()
  endif()
  if(CSAUD_SANITIZE STREQUAL "thread")
    set(sanitizers thread)
  else()
    set(sanitizers address,undefined)
  endif()
  target_compile_options(${target} ${scope} -fsanitize=${sanitizers} -fno-omit-frame-pointer
                                            -fno-sanitize-recover=all -g1)
  target_link_options(${target} ${scope} -fsanitize=${sanitizers})
endfunction()
