.snpu 1.0
.preset dc16
.kernel relu_axpb_f32   params x:gm.r y:gm.w ntiles:u64 w:f32 b:f32
        SLDP  s1, #0            ; x
        SLDP  s2, #1            ; y
        SLDP  s3, #2            ; number of tiles
        SLDP  s20, #3           ; w
        SLDP  s21, #4           ; b
        SLI   s4, 32768         ; bytes per tile
        SLI   s5, 8192          ; elements per tile
        LA    s6, ub:0x00000    ; x ping; pong = +32768
        LA    s7, ub:0x10000    ; y ping; pong = +32768
        SET   VE>LD, #0         ; both x buffers free
        SET   VE>LD, #1
        SET   ST>VE, #0         ; both y buffers free
        SET   ST>VE, #1
        WAIT  VE>LD, #0
        LD    s6, s1, #1, s4, #0, #0, #0
        SET   LD>VE, #0
        SLI   s8, 0             ; i
loop:   SALU.add s10, s8, #1    ; j = i+1: next load is issued BEFORE this tile's compute
        SBR.geu  s10, s3, nold
        SALU.and s11, s10, #1
        SALU.mul s12, s11, s4
        SALU.add s12, s12, s6
        SALU.mul s13, s10, s4
        SALU.add s13, s13, s1
        WAIT  VE>LD, s11
        LD    s12, s13, #1, s4, #0, #0, #0
        SET   LD>VE, s11
nold:   SALU.and s11, s8, #1
        SALU.mul s12, s11, s4
        SALU.add s14, s12, s6   ; x buffer
        SALU.add s15, s12, s7   ; y buffer
        WAIT  LD>VE, s11
        WAIT  ST>VE, s11
        VBINS.mul.f32 s15, s14, s20, #1, s5, #0, #0
        SET   VE>LD, s11        ; x buffer is free as soon as mul is complete
        VBINS.add.f32 s15, s15, s21, #1, s5, #0, #0
        VUN.relu.f32  s15, s15, #1, s5, #0, #0
        SET   VE>ST, s11
        WAIT  VE>ST, s11
        SALU.mul s13, s8, s4
        SALU.add s13, s13, s2
        ST    s13, s15, #1, s4, #0, #0
        SET   ST>VE, s11
        SALU.add s8, s8, #1
        SBR.ltu  s8, s3, loop
        WAIT  VE>LD, #0         ; take back the four credits: no flag may be left set
        WAIT  VE>LD, #1
        WAIT  ST>VE, #0
        WAIT  ST>VE, #1
        HALT
